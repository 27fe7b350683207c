"""Calls in the syntax tree and their names, and plurals for messages."""

from sqlglot import exp

from millstream.sql.tokens import MARK


def function_name(node: exp.Expr) -> str:
    """Return the name of a marked call in lower case; '' for anything else."""
    return str(node.this).removesuffix(MARK).lower() if isinstance(node, exp.Anonymous) else ""


def unmodified_call(node: exp.Expr) -> exp.Expr:
    """Return a call without FILTER, IGNORE NULLS and RESPECT NULLS; WITHIN GROUP remains."""
    while isinstance(node, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        node = node.this
    return node


def call_of(node: exp.Expr) -> exp.Expr:
    """Return a call without its clauses."""
    while isinstance(node := unmodified_call(node), exp.WithinGroup):
        node = node.this
    return node


def count_of(count: int, noun: str) -> str:
    """Return `1 argument`, `2 arguments`."""
    return f"{count} {noun}{'s' if count != 1 else ''}"
