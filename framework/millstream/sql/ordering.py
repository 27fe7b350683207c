"""Values that Spark can't sort, or can't tell apart."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import VARIANT, Type, has_equality, types_within
from millstream.sql.expressions import Evaluator
from millstream.sql.findings import Findings


def check_ordered(evaluator: Evaluator, node: exp.Expr, type_: Type, where: str) -> None:
    """Report a value that has no order: a map, a variant, or what contains one."""
    if not has_equality(type_):
        evaluator.findings.report(node, "MS407", f"{where} can't order a {type_}", _part_of(type_))


def check_grouped_type(evaluator: Evaluator, node: exp.Expr, type_: Type) -> None:
    """Report a group key whose values can't be told apart; Spark groups by maps."""
    if any(part == VARIANT for part in types_within(type_)):
        evaluator.findings.report(node, "MS407", f"rows can't be grouped by a {type_}", _part_of(type_))


def check_distinct(findings: Findings, node: exp.Expr, type_: Type) -> None:
    """Report a column that DISTINCT, UNION, INTERSECT or EXCEPT would compare."""
    if not has_equality(type_):
        findings.report(node, "MS407", f"rows with a {type_} can't be compared", _part_of(type_))


def _part_of(type_: Type) -> str:
    if type_ == VARIANT:
        return "cast it, or extract a value with variant_get(…)"
    return "use map_entries(…) of the map, or some of its values"
