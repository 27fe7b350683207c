"""Decodes and encodes values by a schema, on Spark and in Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.core.types import Field
from millstream.formats.avro.binary import AvroInput
from millstream.formats.avro.decode import AvroReader
from millstream.formats.avro.encode import write_avro
from millstream.formats.avro.parse import parse_schema
from millstream.formats.avro.types import AvroRecord, AvroSchema
from millstream.formats.format import DecodedSql, Fields, Item, LocalCodec, SchemaError, SparkCodec
from millstream.formats.registry import Framing
from millstream.formats.sql import fields_to_ddl, function_call, struct_sql
from millstream.formats.values import UnfitError, single_value

_HEADER = 5


class AvroEncoding(msgspec.Struct, frozen=True):
    """How Avro values of a topic are encoded."""

    schema: str
    """The reader's schema, with which values are also written."""
    framing: Framing = "plain"
    writer: str = ""
    """Without framing: the schema that values were written with, if it is another one."""
    writers: tuple[tuple[int, str], ...] = ()
    """With framing: the schemas that values were written with, by their ids."""
    schema_id: int = 0
    """The id of the schema that values are written with, if the framing has one."""
    subject: str = ""
    """Where a registry has that schema, if its id is not known."""

    @property
    def written(self) -> str:
        """The setting of `decode_avro`."""
        if self.framing == "plain":
            return self.writer
        return msgspec.json.encode({str(number): text for number, text in self.writers}).decode()


def spark_codec(encoding: AvroEncoding) -> SparkCodec:
    def decode(fields: Fields) -> DecodedSql:
        if not fields:
            return DecodedSql()
        return function_call("decode_avro", fields, (), (encoding.schema, encoding.framing, encoding.written))

    def encode(items: Sequence[Item]) -> tuple[Piece, ...]:
        fields = [Field(name, expression.type) for name, expression in items]
        settings = (fields_to_ddl(fields), encoding.schema, encoding.framing, encoding.subject)
        return join_pieces(
            ("encode_avro(", *struct_sql(items), ", ", ", ".join(map(sql_literal, settings)), ")")
        )

    return SparkCodec(decode, encode)


def local_codec(encoding: AvroEncoding) -> LocalCodec:
    """Return the codec in Python. A record is a mapping; any other value stands for itself."""

    @cache
    def schema() -> AvroSchema:
        return parse_schema(encoding.schema)

    writers = dict(encoding.writers)
    header = (
        b"" if encoding.framing == "plain" else b"\0" + encoding.schema_id.to_bytes(4, "big", signed=True)
    )
    start = len(header)

    @cache
    def reader(schema_id: int) -> AvroReader:
        text = encoding.writer if encoding.framing == "plain" else writers.get(schema_id)
        if text is None:
            raise UnfitError(f"unknown schema id {schema_id}")
        try:
            return AvroReader(parse_schema(text) if text else schema(), schema())
        except SchemaError as error:
            raise UnfitError(f"the writer's schema is not valid: {error}") from None

    def decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
        return _read(value, reader(_schema_id(value) if start else 0), start)

    def encode(value: Any, fields: Fields) -> bytes:
        root = schema().root
        root_value = value if isinstance(root, AvroRecord) else single_value(value, fields)
        return header + write_avro(root_value, root, schema())

    return LocalCodec(decode, encode)


def _schema_id(value: bytes) -> int:
    if len(value) < _HEADER:
        raise UnfitError(f"the value has {len(value)} bytes, and no id of a schema")
    if value[0]:
        raise UnfitError("the value does not start with a zero byte and the id of a schema")
    return int.from_bytes(value[1:_HEADER], "big", signed=True)


def _read(value: bytes, reader: AvroReader, start: int) -> Any:
    input_ = AvroInput(value, start)
    try:
        read = reader.read(input_)
    except RecursionError:
        raise UnfitError("records are nested too deeply") from None
    input_.end()
    return read
