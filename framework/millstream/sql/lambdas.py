"""Higher-order functions: the types of their lambdas' variables, and of their results."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.types import BOOLEAN, INT, NULL, STRING, UNKNOWN, VARIANT, Array, Map, Type
from millstream.sql.arguments import argument_span, check_arguments
from millstream.sql.coercion import same_structure
from millstream.sql.expressions import Expressions
from millstream.sql.signatures import signatures
from millstream.sql.value import Value, computed

_WORDS = """
transform filter exists forall aggregate reduce zip_with array_sort map_filter map_zip_with transform_keys
transform_values
"""
LAMBDAS = frozenset(_WORDS.split())
_FIRST_BODY = {"aggregate": 2, "reduce": 2, "zip_with": 2, "map_zip_with": 2}
"""How many arguments come before the lambdas; one, if not listed."""
_ALWAYS_NULLABLE = frozenset(("exists", "forall", "aggregate", "reduce"))


def call_lambda(walk: Expressions, node: exp.Anonymous, name: str) -> Value:
    """Evaluate the plain arguments, then each function with its variables bound to their elements."""
    bodies_from = _FIRST_BODY.get(name, 1)
    arguments = node.expressions
    plain = [walk.value(argument) for argument in arguments[:bodies_from]]
    functions = [(body, Value(UNKNOWN, True)) for body in arguments[bodies_from:]]
    if not check_arguments(
        walk, node, signatures()[name], [*zip(arguments, plain, strict=False), *functions]
    ):
        return computed(UNKNOWN, plain, nullable=True)
    bodies: list[Value] = []
    for index, (body, _) in enumerate(functions):
        value = _body(walk, body, _variables(name, plain, bodies), plain)
        _check_body(walk, node, name, bodies_from + index, value, plain)
        bodies.append(value)
    values = [*plain, *bodies]
    nullable = name in _ALWAYS_NULLABLE or any(value.nullable for value in plain)
    return computed(_result(name, plain, bodies), values, nullable=nullable)


def _check_body(
    walk: Expressions, node: exp.Anonymous, name: str, index: int, body: Value, plain: list[Value]
) -> None:
    """Report the body of a lambda that returns another type than the function needs."""
    expected: Type | None = None
    match name:
        case "exists" | "forall" | "filter" | "map_filter":
            expected = BOOLEAN
        case "array_sort":
            expected = INT
        case "aggregate" | "reduce" if index == 2:
            expected = plain[1].type
        case "transform_keys" if body.type == VARIANT or isinstance(body.type, Map):
            expected = STRING
    nothing = body.type == NULL and name != "array_sort"
    if expected is None or nothing or same_structure(expected, body.type):
        return
    start, stop = argument_span(walk, node, index)
    message = f"the lambda of {name}() must return {expected}, not {body.type}"
    remedy = f"write … -> cast(… as {expected})"
    if name in {"aggregate", "reduce"}:
        remedy = f"begin with a value of the type that the lambda returns: cast(… as {body.type})"
    walk.findings.report_at(start, stop, "MS407", message, remedy)


def _body(walk: Expressions, node: exp.Expr, types: list[Type], plain: list[Value]) -> Value:
    if not isinstance(node, exp.Lambda):
        return walk.value(node)  # a value that is the same for all elements
    sources = computed(UNKNOWN, plain).sources
    walk.findings.marks.lambda_of(node)
    variables = {
        variable.name.lower(): Value(types[index] if index < len(types) else UNKNOWN, True, sources)
        for index, variable in enumerate(node.expressions)
    }
    walk.lambdas.append(variables)
    try:
        return walk.value(node.this)
    finally:
        walk.lambdas.pop()


def _variables(name: str, plain: list[Value], bodies: list[Value]) -> list[Type]:
    types = [value.type for value in plain]
    match name:
        case "aggregate" | "reduce":
            start = types[1] if len(types) > 1 else UNKNOWN
            return [start, _element(types[0])] if not bodies else [bodies[0].type]
        case "zip_with":
            return [_element(types[0]), _element(types[1]) if len(types) > 1 else UNKNOWN]
        case "array_sort":
            return [_element(types[0])] * 2
        case "map_filter" | "transform_keys" | "transform_values":
            return [*_entry(types[0])]
        case "map_zip_with":
            key, value = _entry(types[0])
            return [key, value, _entry(types[1])[1] if len(types) > 1 else UNKNOWN]
        case _:
            return [_element(types[0]), INT]


def _result(name: str, plain: list[Value], bodies: list[Value]) -> Type:
    first, last = plain[0].type, bodies[-1].type
    match name:
        case "transform" | "zip_with":
            return Array(last)
        case "exists" | "forall":
            return BOOLEAN
        case "aggregate" | "reduce":
            return plain[1].type if last == NULL and len(bodies) == 1 else last
        case "transform_keys":
            return Map(last, _entry(first)[1])
        case "transform_values" | "map_zip_with":
            return Map(_entry(first)[0], last)
        case _:
            return first


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Array) else UNKNOWN


def _entry(type_: Type) -> tuple[Type, Type]:
    return (type_.key, type_.value) if isinstance(type_, Map) else (UNKNOWN, UNKNOWN)
