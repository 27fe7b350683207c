"""Names that the syntax tree hands over."""

from sqlglot import exp

from millstream.sql.tokens import MARK


def function_name(node: exp.Expr) -> str:
    """Return the name of a marked call in lower case, '' of anything else."""
    return str(node.this).removesuffix(MARK).lower() if isinstance(node, exp.Anonymous) else ""
