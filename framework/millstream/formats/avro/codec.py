"""Decodes and encodes values by a schema, on Spark and in Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from millstream.expressions import Piece, joined, literal
from millstream.formats.avro.binary import Input
from millstream.formats.avro.decode import Reader
from millstream.formats.avro.encode import write
from millstream.formats.avro.framing import Framing, header, header_length, schema_id_of
from millstream.formats.avro.parse import parse_schema
from millstream.formats.avro.types import AvroSchemaError, Record, Schema
from millstream.formats.format import Decoded, Fields, Item, LocalCodec, SparkCodec
from millstream.formats.sql import ddl, row
from millstream.formats.values import UnfitError, single_value
from millstream.types import Field


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

    @property
    def written(self) -> str:
        """The setting of `decode_avro`."""
        if self.framing == "plain":
            return self.writer
        return msgspec.json.encode({str(number): text for number, text in self.writers}).decode()


def spark_codec(encoding: AvroEncoding) -> SparkCodec:
    def decode(fields: Fields) -> Decoded:
        if not fields:
            return Decoded()
        arguments = (ddl(fields), encoding.schema, encoding.framing, encoding.written)
        return Decoded(function="decode_avro", arguments=arguments)

    def encode(items: Sequence[Item]) -> tuple[Piece, ...]:
        fields = [Field(name, found.type) for name, found in items]
        settings = (ddl(fields), encoding.schema, encoding.framing, str(encoding.schema_id))
        return joined(("encode_avro(", *row(items), ", ", ", ".join(map(literal, settings)), ")"))

    return SparkCodec(decode, encode)


def local_codec(encoding: AvroEncoding) -> LocalCodec:
    """Return the codec in Python. A record is a mapping; any other value stands for itself."""

    @cache
    def schema() -> Schema:
        return parse_schema(encoding.schema)

    writers = dict(encoding.writers)

    @cache
    def reader(schema_id: int) -> Reader:
        text = encoding.writer if encoding.framing == "plain" else writers.get(schema_id)
        if text is None:
            raise UnfitError(f"unknown schema id {schema_id}")
        try:
            return Reader(parse_schema(text) if text else schema(), schema())
        except AvroSchemaError as error:
            raise UnfitError(f"the writer's schema is not valid: {error}") from None

    def decode(value: bytes, fields: Fields) -> Any:  # noqa: ARG001
        return _read(value, reader(schema_id_of(value, encoding.framing)), encoding.framing)

    def encode(value: Any, fields: Fields) -> bytes:
        root = schema().root
        given = value if isinstance(root, Record) else single_value(value, fields)
        return header(encoding.framing, encoding.schema_id) + write(given, root, schema())

    return LocalCodec(decode, encode)


def _read(value: bytes, reader: Reader, framing: Framing) -> Any:
    found = Input(value, header_length(framing))
    try:
        read = reader.read(found)
    except RecursionError:
        raise UnfitError("records are nested too deeply") from None
    found.end()
    return read
