"""Parts of values: elements of arrays and maps, fields of structs, and structs written in brackets."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import NULL, UNKNOWN, VARIANT, Array, Map, Row, Type
from millstream.sql.argument_types import accepts_type
from millstream.sql.can_fail import implicit_cast_raises
from millstream.sql.coercion import is_assignable
from millstream.sql.columns import evaluate_field
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.findings import span_of
from millstream.sql.scope import NOTHING, as_kind
from millstream.sql.structs import struct_of
from millstream.sql.value import Value, computed_value


def evaluate_element(evaluator: Evaluator, node: exp.Bracket) -> Value:
    value = evaluator.value(node.this)
    index = evaluator.values(node.expressions)
    _check_index(evaluator, node, value, index)
    type_: Type = UNKNOWN
    if not isinstance(value.type, Map | Row) or implicit_cast_raises(
        index, getattr(value.type, "key", UNKNOWN)
    ):
        evaluator.findings.marks.raises(node)
    match value.type:
        case Array(element=of) | Map(value=of):
            type_ = of
        case Row() if index and isinstance(index[0].literal, str):
            return evaluate_field(evaluator, value, exp.to_identifier(index[0].literal))
        case other if other not in {UNKNOWN, VARIANT, NULL}:
            message = f"a {other} has no elements"
            evaluator.findings.report(
                node, "MS407", message, "remove the […]: only arrays and maps have elements"
            )
    return computed_value(type_, [value, *index], nullable=True)


def _check_index(evaluator: Evaluator, node: exp.Bracket, value: Value, index: list[Value]) -> None:
    """Report an index of another type than the array or map takes."""
    match value.type:
        case Array() if index and not accepts_type("integer", index[0].type):
            message = f"an array has numbered elements, not {index[0].type}"
            evaluator.findings.report(node, "MS407", message, "write a whole number from 0")
        case Map(key=key) if index and not is_assignable(index[0].type, key):
            message = f"a {value.type} has no keys of type {index[0].type}"
            evaluator.findings.report(node, "MS407", message, f"write cast(… as {key})")
        case other if other == VARIANT and isinstance(node.this, exp.Column) and "end" in node.this.this.meta:
            if node.this.this.meta["end"] not in evaluator.findings.variant_paths:
                name = node.this.name
                message = "a variant has no [ ] of its own"
                evaluator.findings.report(
                    node, "MS407", message, f"write {name}:[0] for an element, {name}:a for a field"
                )


def evaluate_dot(evaluator: Evaluator, node: exp.Dot) -> Value:
    if isinstance(node.expression, exp.Anonymous):
        return _qualified(evaluator, node, node.expression)
    value = evaluator.value(node.this)
    if not isinstance(node.expression, exp.Identifier):
        return evaluator.unknown(node)
    value = evaluate_field(evaluator, value, node.expression)
    if node.expression.meta.get("end") in evaluator.findings.variant_paths:
        return Value(VARIANT, True, as_kind(value.sources, "computed"), None, value.aggregate)
    return value


def _qualified(evaluator: Evaluator, node: exp.Dot, call: exp.Anonymous) -> Value:
    """Report `a.b(…)`: a function of a schema, or an operator such as IN that is missing after a column."""
    start, stop = span_of(node, evaluator.findings.sql)
    stop = call.meta["end"] + 1 if "end" in call.meta else stop
    name = evaluator.findings.sql[start:stop]
    remedy = f"write {call.name}(…), or the operator that is missing before the parenthesis"
    evaluator.findings.report_at(start, stop, "MS405", f"function '{name}' does not exist", remedy, name)
    return Value(UNKNOWN, True, NOTHING)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Bracket: evaluate_element,
    exp.Dot: evaluate_dot,
    exp.Tuple: lambda evaluator, node: struct_of(evaluator, node.expressions),
}
