"""LIMIT and OFFSET: constants of type int that are not negative."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import INT, UNKNOWN
from millstream.sql.expressions import Expressions
from millstream.sql.keywords import keyword_after
from millstream.sql.names import function_name
from millstream.sql.signatures import signatures


def check_limit(walk: Expressions, node: exp.Expr, clause: str) -> None:
    """Report a LIMIT or OFFSET of a query that Spark does not accept."""
    written = node.args[clause].args.get("expression")
    if written is None:
        return
    start, stop = keyword_after(walk.findings.source, node, clause)
    name, message = clause.upper(), ""
    if not _is_constant(written):
        message = f"{name} must be a constant"
    else:
        value = walk.value(written)
        if value.type not in {INT, UNKNOWN}:
            message = f"{name} must be an int, not a {value.type}"
        elif isinstance(written, exp.Neg):
            message = f"{name} can't be negative"
    if message:
        walk.findings.report_at(start, stop, "MS441", message, "write a number, such as 100")


def _is_constant(node: exp.Expr) -> bool:
    return not any(
        isinstance(part, exp.Column | exp.Query)
        or ((signature := signatures().get(function_name(part))) and not signature.deterministic)
        for part in node.walk()
    )
