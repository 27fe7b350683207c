"""Expressions that Spark computes before it reads any row."""

from sqlglot import exp

from millstream.sql.names import function_name
from millstream.sql.signatures import load_signatures

_CLOCK = frozenset(("now", "current_timestamp", "current_date", "curdate", "localtimestamp"))


def is_constant(node: exp.Expr) -> bool:
    """Return whether Spark can compute an expression before it reads any row: `Expression.foldable`."""
    for part in node.walk():
        if isinstance(part, exp.Column | exp.Query | exp.Star | exp.Lambda):
            return False
        if isinstance(part, exp.Identifier) and not isinstance(part.parent, exp.Alias | exp.PropertyEQ):
            return False  # a variable of a lambda
        if isinstance(part, exp.Anonymous):
            name = function_name(part)
            signature = load_signatures().get(name)
            if signature is None or signature.aggregate or signature.window or signature.generator:
                return False
            if not signature.deterministic and name not in _CLOCK:
                return False
    return True
