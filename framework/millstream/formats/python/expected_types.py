"""SQL types in the form that Python workers take."""

from __future__ import annotations

from millstream.core.types import BIGINT, INT, SMALLINT, TINYINT, Array, Decimal, Map, Row, Type
from millstream.formats.format import Fields
from millstream.formats.python.checks import ExpectedField, ExpectedType

_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
_KINDS = {"float": "floating", "double": "floating"}


def expected_fields(fields: Fields) -> tuple[ExpectedField, ...]:
    return tuple(ExpectedField(field.name, expected_type(field.type), field.nullable) for field in fields)


def expected_type(type_: Type) -> ExpectedType:
    text = str(type_)
    match type_:
        case Decimal(precision=precision, scale=scale):
            return ExpectedType("decimal", text, (precision, scale))
        case Array(element=element):
            return ExpectedType("array", text, (expected_type(element),))
        case Map(key=key, value=value):
            return ExpectedType("map", text, (expected_type(key), expected_type(value)))
        case Row(fields=fields):
            return ExpectedType(
                "struct", text, tuple((field.name, expected_type(field.type)) for field in fields)
            )
        case _ if type_ in _BITS:
            return ExpectedType("integer", text, (_BITS[type_],))
        case _:
            return ExpectedType(_KINDS.get(text, text), text)
