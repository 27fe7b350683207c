"""SQL types in the form that Python workers take."""

from __future__ import annotations

from millstream.formats.format import Fields
from millstream.formats.python.checks import Wanted, WantedField
from millstream.types import BIGINT, INT, SMALLINT, TINYINT, Array, Decimal, Map, Row, Type

_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
_KINDS = {"float": "floating", "double": "floating"}


def wanted_fields(fields: Fields) -> tuple[WantedField, ...]:
    return tuple(WantedField(each.name, wanted(each.type), each.nullable) for each in fields)


def wanted(given: Type) -> Wanted:
    text = str(given)
    match given:
        case Decimal(precision=precision, scale=scale):
            return Wanted("decimal", text, (precision, scale))
        case Array(element=element):
            return Wanted("array", text, (wanted(element),))
        case Map(key=key, value=value):
            return Wanted("map", text, (wanted(key), wanted(value)))
        case Row(fields=fields):
            return Wanted("struct", text, tuple((field.name, wanted(field.type)) for field in fields))
        case _ if given in _BITS:
            return Wanted("integer", text, (_BITS[given],))
        case _:
            return Wanted(_KINDS.get(text, text), text)
