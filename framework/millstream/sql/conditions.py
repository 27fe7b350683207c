"""Comparisons and logical operators, whose results are TRUE, FALSE or NULL."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    NULL,
    STRING,
    UNKNOWN,
    Decimal,
    Row,
    Type,
    has_equality,
)  # fmt: skip
from millstream.sql.argument_types import accepts_type
from millstream.sql.arithmetic import decimal_of
from millstream.sql.can_fail import implicit_cast_raises
from millstream.sql.coercion import common_type, common_type_of, comparable_type, is_numeric
from millstream.sql.constant_texts import check_texts
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.names import count_of
from millstream.sql.result import BoundQuery
from millstream.sql.scope import as_kind
from millstream.sql.subqueries import check_subquery
from millstream.sql.value import Value, computed_value, merge_lineage, nullable_as


def evaluate_comparison(evaluator: Evaluator, node: exp.Binary) -> Value:
    if isinstance(node.right, exp.All | exp.Any):
        message = "Spark only supports ANY and ALL in LIKE"
        evaluator.findings.report(node, "MS437", message, "compare with a value: (select max(…) from …)")
        return computed_value(BOOLEAN, [evaluator.value(node.left)], nullable=True)
    left, right = evaluator.value(node.left), evaluator.value(node.right)
    result = computed_value(BOOLEAN, [left, right], nullable=check_comparison(evaluator, node, left, right))
    if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
        result.nullable = False
    return result


def check_comparison(evaluator: Evaluator, node: exp.Expr, left: Value, right: Value) -> bool:
    """Check that two values can be compared, and return whether the result can be NULL."""
    type_ = comparable_type(left.type, right.type)
    if type_ is None:
        message = f"{left.type} and {right.type} can't be compared"
        evaluator.findings.report(node, "MS407", message, "cast one side to the other's type")
        return True
    check_texts(evaluator.findings, [left, right], type_, "compared")
    if left.type != right.type and implicit_cast_raises([left, right], type_):
        evaluator.findings.marks.raises(node)
    first = second = type_
    types = (left.type, right.type)
    if (
        any(isinstance(type_, Decimal) for type_ in types)
        and all(is_numeric(t) for t in types)
        and not {FLOAT, DOUBLE} & {*types}
    ):
        # Next to a decimal, a literal has exactly its digits, which Spark treats as a narrowing cast.
        first, second = decimal_of(left, left.type), decimal_of(right, right.type)
    return nullable_as(left, first) or nullable_as(right, second)


def evaluate_condition(evaluator: Evaluator, node: exp.Expr, *, cast: bool = False) -> Value:
    """Evaluate a condition of WHERE, ON, HAVING, FILTER or CASE WHEN.

    With `cast`, as for the sides of AND, a text or NULL becomes a boolean.
    """
    value = evaluator.value(node)
    if value.type not in ({BOOLEAN, UNKNOWN, NULL, STRING} if cast else {BOOLEAN, UNKNOWN}):
        message = f"expected a condition, not {'NULL' if value.type == NULL else f'a {value.type}'}"
        remedy = "write cast(… as boolean)" if value.type in {STRING, NULL} else "compare it with a value"
        evaluator.findings.report(node, "MS407", message, remedy)
    if cast:
        check_texts(evaluator.findings, [value], BOOLEAN, "value")
    if value.type in {STRING, UNKNOWN}:
        evaluator.findings.marks.raises(node)
    return value


def evaluate_logical(evaluator: Evaluator, node: exp.Expr) -> Value:
    values = [evaluate_condition(evaluator, child, cast=True) for child in node.iter_expressions()]
    types = {value.type for value in values}
    if isinstance(node, exp.Binary) and STRING in types and not {BOOLEAN, UNKNOWN} & types:
        evaluator.findings.report(
            node, "MS407", "expected a condition, not a text", "compare it with a value"
        )
    return computed_value(BOOLEAN, values, nullable=any(nullable_as(value, BOOLEAN) for value in values))


def evaluate_like(evaluator: Evaluator, node: exp.Expr) -> Value:
    """Evaluate LIKE, RLIKE and similar operators; ANY and ALL take several patterns."""
    nodes: list[exp.Expr] = []
    many = False
    for child in node.iter_expressions():
        several = isinstance(child, exp.All | exp.Any)
        inner = child.this if several else child
        nodes += inner.expressions if isinstance(inner, exp.Tuple) else [inner]
        many |= several
    values = evaluator.values([child for child in nodes if not isinstance(child, exp.Var)])
    escape = values[-1]
    if isinstance(node, exp.Escape) and (escape.type != STRING or len(str(escape.literal or "")) != 1):
        evaluator.findings.report(node, "MS407", "ESCAPE needs one character", "write escape '!'")
    if isinstance(node, exp.RegexpLike) and len(values) > 2:
        evaluator.findings.report(
            node, "MS406", "rlike() takes 2 arguments, not 3", "begin the pattern with (?i)"
        )
    for value in values:
        if not accepts_type("string", value.type):
            message = f"LIKE and RLIKE compare texts, not {value.type}"
            evaluator.findings.report(node, "MS407", message, "use a part of it, or to_json(…)")
    if any(value.literal is None for value in values[1:]):
        evaluator.findings.marks.raises(node)  # a pattern that is not a literal can be invalid
    nullable = many or any(nullable_as(value, STRING) for value in values)
    return computed_value(BOOLEAN, values, nullable=nullable)


def evaluate_between(evaluator: Evaluator, node: exp.Between) -> Value:
    if node.args.get("symmetric"):
        message = "Spark has no BETWEEN SYMMETRIC"
        evaluator.findings.report(node, "MS437", message, "write between least(a, b) and greatest(a, b)")
    value, low, high = evaluator.values([node.this, node.args["low"], node.args["high"]])
    nullable = [check_comparison(evaluator, node, value, low), check_comparison(evaluator, node, value, high)]
    return computed_value(BOOLEAN, [value, low, high], nullable=any(nullable))


def in_(evaluator: Evaluator, node: exp.In) -> Value:
    value = evaluator.value(node.this)
    if query := node.args.get("query"):
        result = check_subquery(
            evaluator, query, evaluator.findings.subquery(query, evaluator.scope), node.this
        )
        _check_columns(evaluator, node, value, result)
        sources = frozenset().union(*(column.sources for column in result.columns), result.rows)
        nullable = value.nullable or any(column.nullable for column in result.columns)
        return computed_value(
            BOOLEAN, [value, Value(BOOLEAN, nullable, as_kind(sources, "filter"))], nullable=nullable
        )
    values = [value, *evaluator.values(node.expressions)]
    type_ = common_type_of([other.type for other in values])
    if type_ is None or not has_equality(type_):
        shown = ", ".join(dict.fromkeys(str(other.type) for other in values))
        evaluator.findings.report(node, "MS407", f"{shown} can't be compared", "cast them to one type")
        return computed_value(BOOLEAN, values, nullable=True)
    check_texts(evaluator.findings, values, type_, "compared")
    if implicit_cast_raises(values, type_):
        evaluator.findings.marks.raises(node)
    return computed_value(BOOLEAN, values, nullable=any(nullable_as(other, type_) for other in values))


def _check_columns(evaluator: Evaluator, node: exp.In, value: Value, result: BoundQuery) -> None:
    """Check that a value, or each of several, can be compared with the columns of a subquery."""
    left: list[Type] = [value.type]
    if isinstance(node.this, exp.Tuple) and isinstance(value.type, Row):
        left = [field.type for field in value.type.fields]
    if result.open:
        return
    if len(left) != len(result.columns):
        message = f"IN compares {count_of(len(left), 'column')} with {len(result.columns)} of the subquery"
        evaluator.findings.report(
            node.args["query"], "MS412", message, "select as many columns as are before IN"
        )
        return
    for type_, column in zip(left, result.columns, strict=True):
        shared = common_type(type_, column.type)
        if shared is None or not has_equality(shared):
            message = f"{type_} and {column.type} can't be compared"
            evaluator.findings.report(
                node.args["query"], "MS407", message, "cast one side to the other's type"
            )


def is_(evaluator: Evaluator, node: exp.Is) -> Value:
    value = evaluator.value(node.this)
    if isinstance(node.expression, exp.Boolean) and not accepts_type("boolean", value.type):
        message = f"expected a condition before IS, not a {value.type}"
        evaluator.findings.report(node, "MS407", message, "compare it with a value")
    return computed_value(BOOLEAN, [value], nullable=False)


def evaluate_exists(evaluator: Evaluator, node: exp.Exists) -> Value:
    result = check_subquery(evaluator, node.this, evaluator.findings.subquery(node.this, evaluator.scope))
    columns = [Value(column.type, column.nullable, column.sources) for column in result.columns]
    return Value(BOOLEAN, False, as_kind(merge_lineage(columns) | result.rows, "filter"))


HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        evaluate_comparison,
    ),
    **dict.fromkeys((exp.And, exp.Or, exp.Not), evaluate_logical),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.Escape), evaluate_like),
    exp.Is: is_,
    exp.Between: evaluate_between,
    exp.In: in_,
    exp.Exists: evaluate_exists,
}
