"""Counts that are written as sums of 1 and 0."""

from __future__ import annotations

from sqlglot import exp


def call_of(name: str, arguments: list[exp.Expr]) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=arguments)


def filtered_call(call: exp.Expr, condition: exp.Expr) -> exp.Filter:
    return exp.Filter(this=call, expression=exp.Where(this=condition))


def without_null(aggregate: exp.Expr) -> exp.Expr | None:
    """Return an aggregate of which NULL is counted as 0, if it counts rows."""
    match aggregate:
        case exp.Anonymous(this="count") | exp.Filter(this=exp.Anonymous(this="count")):
            return aggregate
        case exp.Filter(this=exp.Anonymous(this="sum", expressions=[one]), expression=where):
            if is_number(one, "1"):
                return filtered_call(call_of("count", [exp.Star()]), where.this)
    return count_of_group(aggregate)


def count_of_group(aggregate: exp.Expr) -> exp.Expr | None:
    """Return a sum of 1 and 0 over at least one row as a count; over none, only the sum is NULL."""
    match aggregate:
        case exp.Anonymous(this="sum", expressions=[exp.Case() as case]) if len(case.args["ifs"]) == 1:
            (branch,) = case.args["ifs"]
            if is_number(branch.args["true"], "1") and is_number(case.args.get("default"), "0"):
                return filtered_call(call_of("count", [exp.Star()]), branch.this)
        case exp.Anonymous(this="sum", expressions=[number]) if is_number(number, "1"):
            return call_of("count", [exp.Star()])
    return None


def is_number(value: exp.Expr | None, number: str) -> bool:
    return isinstance(value, exp.Literal) and not value.is_string and value.name == number
