"""Names of calls in the syntax tree, and plurals for messages."""

from sqlglot import exp

from millstream.sql.tokens import MARK


def function_name(node: exp.Expr) -> str:
    """Return the name of a marked call in lower case; '' for anything else."""
    return str(node.this).removesuffix(MARK).lower() if isinstance(node, exp.Anonymous) else ""


def count_of(count: int, noun: str) -> str:
    """Return `1 argument`, `2 arguments`."""
    return f"{count} {noun}{'s' if count != 1 else ''}"
