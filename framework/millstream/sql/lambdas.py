"""Higher-order functions: the types of their lambdas' variables, and of their results."""

from __future__ import annotations

from sqlglot import exp

from millstream.sql.expressions import Expressions
from millstream.sql.value import Value, computed
from millstream.types import BOOLEAN, INT, UNKNOWN, Array, Map, Type

_WORDS = """
transform filter exists forall aggregate reduce zip_with array_sort map_filter map_zip_with transform_keys
transform_values
"""
LAMBDAS = frozenset(_WORDS.split())
_ALWAYS_NULLABLE = frozenset(("exists", "forall", "aggregate", "reduce"))


def call_lambda(walk: Expressions, node: exp.Anonymous, name: str) -> Value:
    """Evaluate the plain arguments, then each function with its variables bound to their elements."""
    plain = [walk.value(argument) for argument in node.expressions if not isinstance(argument, exp.Lambda)]
    bodies: list[Value] = []
    for argument in node.expressions:
        if isinstance(argument, exp.Lambda):
            bodies.append(_body(walk, argument, _variables(name, plain, bodies), plain))
    values = [*plain, *bodies]
    nullable = name in _ALWAYS_NULLABLE or any(value.nullable for value in plain)
    return computed(_result(name, plain, bodies), values, nullable=nullable)


def _body(walk: Expressions, node: exp.Lambda, types: list[Type], plain: list[Value]) -> Value:
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
            return last
        case "transform_keys":
            return Map(last, _entry(first)[1])
        case "transform_values" | "map_zip_with":
            return Map(_entry(first)[0], last)
        case _:
            return first


def _element(found: Type) -> Type:
    return found.element if isinstance(found, Array) else UNKNOWN


def _entry(found: Type) -> tuple[Type, Type]:
    return (found.key, found.value) if isinstance(found, Map) else (UNKNOWN, UNKNOWN)
