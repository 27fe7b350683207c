"""SQL that decodes and encodes messages by Millstream's own functions."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from millstream.expressions import Piece, joined, literal, quoted
from millstream.formats.format import Decoded, Fields, Item, SparkCodec
from millstream.formats.protobuf.schema import Schema
from millstream.formats.sql import row
from millstream.types import INTERVAL, Array, Field, Map, Row, Simple, Type

_DAY_TIME = Simple("interval day to second")
"""The type of a difference of times, which `interval` in a schema of Spark is not."""


def spark_codec(schema: Schema) -> SparkCodec:
    descriptors = b64encode(schema.descriptors).decode()
    settings = (descriptors, schema.message, schema.framing)

    def decode(fields: Fields) -> Decoded:
        return Decoded(function="decode_protobuf", arguments=(protobuf_ddl(fields), *settings))

    def encode(items: Sequence[Item]) -> tuple[Piece, ...]:
        fields = [Field(name, found.type) for name, found in items]
        arguments = (protobuf_ddl(fields), *settings, str(schema.id))
        written = "".join(f", {literal(each)}" for each in arguments)
        return joined(("encode_protobuf(", *row(items), f"{written})"))

    return SparkCodec(decode, encode)


def protobuf_ddl(fields: Fields) -> str:
    """Return the columns as the two functions take them."""
    return ", ".join(f"{quoted(each.name)} {_written(each.type)}" for each in fields)


def _written(given: Type) -> Type:
    match given:
        case Array(element=element):
            return Array(_written(element))
        case Map(key=key, value=value):
            return Map(_written(key), _written(value))
        case Row(fields=fields):
            return Row(tuple(Field(each.name, _written(each.type)) for each in fields))
        case _:
            return _DAY_TIME if given == INTERVAL else given
