"""SQL that decodes and encodes messages by Millstream's own functions."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.core.types import INTERVAL, Array, Field, Map, Row, Simple, Type
from millstream.formats.format import DecodedSql, Fields, Item, SparkCodec
from millstream.formats.protobuf.schema import ProtobufSchema
from millstream.formats.sql import fields_to_ddl, function_call, struct_sql

_DAY_TIME = Simple("interval day to second")
"""The type of a difference of times, which `interval` in a schema of Spark is not."""


def spark_codec(schema: ProtobufSchema) -> SparkCodec:
    descriptors = b64encode(schema.descriptors).decode()
    settings = (descriptors, schema.message, schema.framing)
    framing = " ".join((schema.framing, *(f"{id_}={position}" for id_, position in schema.message_positions)))

    def decode(fields: Fields) -> DecodedSql:
        decoding_settings = (descriptors, schema.message, framing)
        return function_call("decode_protobuf", _written_all(fields), settings=decoding_settings)

    def encode(items: Sequence[Item]) -> tuple[Piece, ...]:
        fields = _written_all([Field(name, expression.type) for name, expression in items])
        arguments = (fields_to_ddl(fields), *settings, schema.subject)
        written = "".join(f", {sql_literal(argument)}" for argument in arguments)
        return join_pieces(("encode_protobuf(", *struct_sql(items), f"{written})"))

    return SparkCodec(decode, encode)


def _written_all(fields: Fields) -> tuple[Field, ...]:
    return tuple(Field(field.name, _written(field.type), field.nullable) for field in fields)


def _written(type_: Type) -> Type:
    match type_:
        case Array(element=element):
            return Array(_written(element))
        case Map(key=key, value=value):
            return Map(_written(key), _written(value))
        case Row(fields=fields):
            return Row(_written_all(fields))
        case _:
            return _DAY_TIME if type_ == INTERVAL else type_
