"""The result types of functions over arrays, maps and structs."""

from collections.abc import Callable

from millstream.sql.coercion import common
from millstream.types import (
    BIGINT,
    DOUBLE,
    STRING,
    UNKNOWN,
    VARIANT,
    Array,
    Field,
    Map,
    Row,
    Type,
    TypeSyntaxError,
    parse_type,
)

Rule = Callable[[str, list[Type], list[object]], Type]
"""Takes the function's name, the types of its arguments, and their literal values (None if not literal)."""


def _array(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(common(types) or UNKNOWN)


def _array_repeat(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(types[0])


def _element(_: str, types: list[Type], __: list[object]) -> Type:
    match types[0]:
        case Array(element=element):
            return element
        case Map(value=value):
            return value
        case _:
            return UNKNOWN


def _sequence(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(common(types[:2]) or UNKNOWN)


def _map(_: str, types: list[Type], __: list[object]) -> Type:
    return Map(common(types[::2]) or UNKNOWN, common(types[1::2]) or UNKNOWN)


def _entries(_: str, types: list[Type], __: list[object]) -> Type:
    match types[0]:
        case Map(key=key, value=value):
            return Array(Row((Field("key", key), Field("value", value))))
        case _:
            return UNKNOWN


def _keys(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(types[0].key) if isinstance(types[0], Map) else UNKNOWN


def _values(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(types[0].value) if isinstance(types[0], Map) else UNKNOWN


def _map_from_arrays(_: str, types: list[Type], __: list[object]) -> Type:
    match types:
        case [Array(element=key), Array(element=value)]:
            return Map(key, value)
        case _:
            return UNKNOWN


def _map_from_entries(_: str, types: list[Type], __: list[object]) -> Type:
    match types[0]:
        case Array(element=Row(fields=(key, value))):
            return Map(key.type, value.type)
        case _:
            return UNKNOWN


def _appended(_: str, types: list[Type], __: list[object]) -> Type:
    match types[0]:
        case Array(element=element):
            found = common([element, types[-1]])
            return Array(found) if found else UNKNOWN
        case _:
            return UNKNOWN


def _maps(_: str, types: list[Type], __: list[object]) -> Type:
    return (common(types) or UNKNOWN) if types else Map(STRING, STRING)


def _histogram(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(Row((Field("x", types[0]), Field("y", DOUBLE))))


def _top(_: str, types: list[Type], __: list[object]) -> Type:
    return Array(Row((Field("item", types[0]), Field("count", BIGINT))))


def _by(_: str, types: list[Type], __: list[object]) -> Type:
    return types[0] if len(types) == 2 else Array(types[0])


def _schema(_: str, __: list[Type], literals: list[object]) -> Type:
    text = literals[1]
    if not isinstance(text, str):
        return UNKNOWN
    for candidate in (text, f"struct<{text}>"):
        try:
            return parse_type(candidate)
        except TypeSyntaxError:
            continue
    return UNKNOWN


def _variant_get(_: str, __: list[Type], literals: list[object]) -> Type:
    if len(literals) < 3:
        return VARIANT
    return _schema(_, [], [None, literals[2]])


NESTED: dict[str, Rule] = {
    "array": _array,
    "array_repeat": _array_repeat,
    "element": _element,
    "sequence": _sequence,
    "map": _map,
    "entries": _entries,
    "keys": _keys,
    "values": _values,
    "map_from_arrays": _map_from_arrays,
    "map_from_entries": _map_from_entries,
    "appended": _appended,
    "inserted": _appended,
    "maps": _maps,
    "histogram": _histogram,
    "top": _top,
    "by": _by,
    "schema": _schema,
    "variant_get": _variant_get,
}
