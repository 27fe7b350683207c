"""Calculations, casts, CASE and IF."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.type_names import type_remedy
from millstream.core.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    Array,
    Decimal,
    Field,
    Map,
    Row,
    Type,
    TypeSyntaxError,
    parse_type,
)
from millstream.sql.argument_types import accepts_type, type_noun
from millstream.sql.arithmetic import arithmetic_type, bitwise_type, interval_kind, operand_type
from millstream.sql.can_fail import arithmetic_raises, implicit_cast_raises
from millstream.sql.casts import can_cast, makes_nulls
from millstream.sql.changing_functions import is_special_time
from millstream.sql.coercion import common_type_of
from millstream.sql.conditions import check_comparison, evaluate_condition
from millstream.sql.constant_texts import all_texts, check_texts
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.findings import span_of
from millstream.sql.keyword_calls import keyword_call
from millstream.sql.value import Value, computed_value, nullable_as
from millstream.sql.values import SqlCast

_DTYPE = exp.DataType.Type
_MOST_DIGITS = 38
_NAMES = {
    _DTYPE.TEXT: "string",
    _DTYPE.VARCHAR: "string",
    _DTYPE.CHAR: "string",
    _DTYPE.TIMESTAMPTZ: "timestamp",
    _DTYPE.TIMESTAMPLTZ: "timestamp",
    _DTYPE.TIMESTAMP: "timestamp",
    _DTYPE.TIMESTAMPNTZ: "timestamp_ntz",
    _DTYPE.VARBINARY: "binary",
    _DTYPE.BINARY: "binary",
}

_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div",
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
}  # fmt: skip
_BITS = frozenset("&|^")


def evaluate_calculation(evaluator: Evaluator, node: exp.Binary) -> Value:
    left, right = evaluator.value(node.left), evaluator.value(node.right)
    sign = _SIGNS[type(node)]
    calculated = bitwise_type(left, right) if sign in _BITS else arithmetic_type(sign, left, right)
    if calculated is None:
        message = f"the operator {sign} does not support {left.type} and {right.type}"
        nested = next((side.type for side in (left, right) if isinstance(side.type, Array | Map | Row)), None)
        remedy = f"extract a number from the {nested}" if nested else "cast one side to a number"
        evaluator.findings.report(node, "MS407", message, remedy)
    type_, nullable = calculated or (UNKNOWN, True)
    check_texts(evaluator.findings, [left, right], operand_type(sign, left, right), "value")
    if arithmetic_raises(sign, left, right, type_):
        evaluator.findings.marks.raises(node)
    value = computed_value(type_, [left, right], nullable=nullable)
    if type_ == INTERVAL:
        value.literal = interval_kind(sign, left, right)
    return value


def evaluate_shift(evaluator: Evaluator, node: exp.Binary) -> Value:
    if isinstance(node, exp.BitwiseRightShift):
        # After the word `struct`, `array` or `map`, Spark's lexer reads `>>` as the end of two types
        # (SqlBaseLexer.isShiftRightOperator), and every record is written as a struct.
        message = "Spark can't parse >> everywhere: after struct, array or map, it has another meaning"
        evaluator.findings.report(
            node, "MS437", message, "write shiftright(…, …), or shiftrightunsigned for >>>"
        )
    return keyword_call(evaluator, node)


def evaluate_negative(evaluator: Evaluator, node: exp.Unary) -> Value:
    value = evaluator.value(node.this)
    sign, word = ("-", "measure") if isinstance(node, exp.Neg) else ("~", "integer")
    if not accepts_type(word, value.type):
        remedy = f"use {type_noun(word)}"
        message = f"the operator {sign} takes {type_noun(word)}, not {value.type}"
        evaluator.findings.report(node, "MS407", message, remedy)
        return computed_value(UNKNOWN, [value], nullable=True)
    literal = value.literal if value.type == INTERVAL else None
    # `-5` is a literal of Spark's parser, with the digits of 5.
    if (
        isinstance(node, exp.Neg)
        and isinstance(node.this, exp.Literal)
        and isinstance(value.literal, int | float)
    ):
        literal = -value.literal
    check_texts(evaluator.findings, [value], DOUBLE if sign == "-" else INT, "value")
    type_ = (DOUBLE if sign == "-" else INT) if value.type in {STRING, NULL} else value.type
    result = computed_value(type_, [value], nullable=nullable_as(value, type_))
    result.literal = literal
    if (
        isinstance(node, exp.Neg)
        and value.literal is None
        and (type_ not in {FLOAT, DOUBLE} or value.type == STRING)
    ):
        evaluator.findings.marks.raises(node)
    return result


def evaluate_concat(evaluator: Evaluator, node: exp.Expr, values: list[Value]) -> Value:
    """Evaluate `||` and `concat`, over arrays, binaries or text."""
    types = [value.type for value in values]
    combined: Type = STRING
    if any(isinstance(type_, Array) for type_ in types):
        combined = _same_array(evaluator, node, types)
    elif types and all(type_ == BINARY for type_ in types):
        combined = BINARY
    elif other := next((type_ for type_ in types if isinstance(type_, Map | Row)), None):
        message = f"a {other} can't be concatenated"
        evaluator.findings.report(node, "MS407", message, "use a part of it, or to_json(…)")
    return computed_value(combined, values, nullable=any(nullable_as(value, combined) for value in values))


def _same_array(evaluator: Evaluator, node: exp.Expr, types: list[Type]) -> Type:
    mixed = any(not isinstance(type_, Array) and type_ != UNKNOWN for type_ in types)
    combined = None if mixed else common_type_of(types)
    if combined is None:
        shown = " and ".join(dict.fromkeys(map(str, types)))
        evaluator.findings.report(node, "MS407", f"{shown} can't be concatenated", "cast them to one type")
    return combined or UNKNOWN


def evaluate_cast(evaluator: Evaluator, node: exp.Cast) -> Value:
    value = evaluator.value(node.this)
    target = data_type(node.args["to"])
    if target is None:
        # Spark's dialect would write the type that sqlglot translates it to: TIMESTAMP for DATETIME.
        shown = node.args["to"].sql()
        decimal = (
            "use a type of Spark SQL; a decimal has at most 38 digits, and its scale is at most its precision"
        )
        remedy = decimal if "DECIMAL" in shown else type_remedy(shown, "use a type of Spark SQL")
        evaluator.findings.report(node, "MS407", f"unknown type {shown}", remedy)
    elif not can_cast(value.type, target):
        message = f"a {value.type} can't be cast to {target}"
        evaluator.findings.report(node, "MS407", message, "use a part of it, or to_json(…)")
    target = target or UNKNOWN
    evaluator.findings.casts.append(SqlCast(*span_of(node, evaluator.findings.sql), value.type, target))
    if not node.args.get("safe"):
        check_texts(evaluator.findings, [value], target, "value")
    if target == value.type and not node.args.get("safe"):
        return Value(target, value.nullable, value.sources, None, value.aggregate)
    if not node.args.get("safe") and implicit_cast_raises([value], target):
        evaluator.findings.marks.raises(node)
    elif is_special_time(value.literal) and target in {DATE, TIMESTAMP, TIMESTAMP_NTZ}:
        evaluator.findings.marks.casts_time(node)
    nullable = value.nullable or bool(node.args.get("safe")) or makes_nulls(value.type, target)
    if type(node) is exp.Cast and isinstance(node.this, exp.Literal):
        # A literal, date'2026-01-01'; sqlglot parses a written cast as a TryCast.
        nullable = False
    return computed_value(target, [value], nullable=nullable)


def evaluate_case(evaluator: Evaluator, node: exp.Case) -> Value:
    conditions = [evaluator.value(node.this)] if node.this else []
    results = []
    for branch in node.args["ifs"]:
        if node.this:
            conditions.append(evaluator.value(branch.this))
            check_comparison(evaluator, branch.this, conditions[0], conditions[-1])
        else:
            conditions.append(evaluate_condition(evaluator, branch.this))
        results.append(evaluator.value(branch.args["true"]))
    if (default := node.args.get("default")) is not None:
        results.append(evaluator.value(default))
    if node.this and implicit_cast_raises(
        conditions, common_type_of([value.type for value in conditions]) or UNKNOWN
    ):
        evaluator.findings.marks.raises(node)
    return choose_result(evaluator, node, conditions, results, complete=default is not None)


def if_(evaluator: Evaluator, node: exp.If) -> Value:
    results = [
        evaluator.value(part) for part in (node.args["true"], node.args.get("false")) if part is not None
    ]
    return choose_result(
        evaluator, node, [evaluate_condition(evaluator, node.this)], results, complete=len(results) > 1
    )


def choose_result(
    evaluator: Evaluator, node: exp.Expr, conditions: list[Value], results: list[Value], *, complete: bool
) -> Value:
    """Return the value of one of several results; it can be NULL if no condition may match."""
    shared_type = common_type_of([value.type for value in results])
    if shared_type is None:
        types = ", ".join(sorted({str(value.type) for value in results}))
        message = f"the branches have different types: {types}"
        evaluator.findings.report(node, "MS407", message, "cast them to one type")
    type_ = shared_type or UNKNOWN
    check_texts(evaluator.findings, results, shared_type, "branch")
    if implicit_cast_raises(results, type_):
        evaluator.findings.marks.raises(node)
    nullable = not complete or any(nullable_as(value, type_) for value in results)
    value = computed_value(type_, [*conditions, *results], nullable=nullable)
    value.texts = all_texts(results)
    return value


HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys(_SIGNS, evaluate_calculation),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), evaluate_shift),
    **dict.fromkeys((exp.Neg, exp.BitwiseNot), evaluate_negative),
    exp.Collate: lambda evaluator, node: computed_value(STRING, [evaluator.value(node.this)]),
    exp.DPipe: lambda evaluator, node: evaluate_concat(
        evaluator, node, evaluator.values([node.left, node.right])
    ),
    **dict.fromkeys((exp.Cast, exp.TryCast), evaluate_cast),
    exp.Case: evaluate_case,
    exp.If: if_,
}


def data_type(node: exp.Expr) -> Type | None:
    """Return the type that a CAST names; None if Spark does not have it."""
    if isinstance(node, exp.Interval) or (
        isinstance(node, exp.DataType) and isinstance(node.this, exp.Interval)
    ):
        return INTERVAL
    if not isinstance(node, exp.DataType):
        return None
    inner = node.expressions
    sizes = [part.name for part in inner if isinstance(part, exp.DataTypeParam) and _is_number(part.this)]
    if len(sizes) < sum(isinstance(part, exp.DataTypeParam) for part in inner):
        return None
    match node.this:
        case _DTYPE.ARRAY | _DTYPE.LIST:
            element = data_type(inner[0]) if inner else None
            return Array(element) if element else None
        case _DTYPE.MAP:
            key, value = (data_type(inner[0]), data_type(inner[1])) if len(inner) == 2 else (None, None)
            return Map(key, value) if key and value else None
        case _DTYPE.STRUCT:
            fields = [(field.name, data_type(field.args.get("kind") or field)) for field in inner]
            typed = [Field(name, type_) for name, type_ in fields if type_]
            return Row(tuple(typed)) if len(typed) == len(fields) else None
        case _DTYPE.DECIMAL:
            return _decimal([int(size) for size in sizes])
    name = _NAMES.get(node.this) or str(node.this.value if hasattr(node.this, "value") else node.this).lower()
    try:
        return parse_type(name)
    except TypeSyntaxError:
        return None


def _decimal(sizes: list[int]) -> Decimal | None:
    decimal = Decimal(*sizes) if len(sizes) <= 2 else None
    return decimal if decimal and decimal.scale <= decimal.precision <= _MOST_DIGITS else None


def _is_number(node: exp.Expr) -> bool:
    # A number of thousands of digits is no size, and Python does not read it.
    return (
        isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 10
    )
