"""Avro: records of a schema, plain or as Confluent's serializers frame them."""

from __future__ import annotations

from millstream.core.types import Type
from millstream.formats.avro.codec import AvroEncoding, local_codec, spark_codec
from millstream.formats.avro.column_dependencies import read_dependencies
from millstream.formats.avro.columns import (
    columns_of,
    is_lossless,
    schema_of,
    schema_of_single,
    with_defaults,
)
from millstream.formats.avro.parse import parse_schema, schema_essence
from millstream.formats.avro.references import self_contained
from millstream.formats.avro.types import AvroRecord
from millstream.formats.format import Fields, Format, ReadSchema, SchemaFiles, SchemaLanguage
from millstream.formats.registry import Encoding


def _read(files: SchemaFiles) -> ReadSchema:
    others = {name: text for name, text in files.texts.items() if name != files.path and not files.folders}
    text = self_contained(files.texts[files.path], others)
    schema = parse_schema(text)
    single = not isinstance(schema.root, AvroRecord)
    return ReadSchema(columns_of(schema), schema_essence(text), optional=with_defaults(schema), single=single)


def _derive(fields: Fields, name: str) -> ReadSchema:
    text = schema_of(fields, name)
    return ReadSchema(columns_of(parse_schema(text)), text, text=text)


def _derive_single(type_: Type, name: str) -> ReadSchema:
    text = schema_of_single(type_, name)
    return ReadSchema(columns_of(parse_schema(text)), text, text=text, single=True)


def format_of(encoding: Encoding) -> Format:
    writers = tuple((writer.id, writer.schema) for writer in encoding.writers)
    avro_encoding = AvroEncoding(
        encoding.schema, encoding.framing, "", writers, encoding.schema_id, encoding.subject
    )
    return Format(
        media_type="application/vnd.apache.avro",
        spark=spark_codec(avro_encoding),
        local=local_codec(avro_encoding),
        single=encoding.single,
        round_trips=is_lossless,
        schemas=SchemaLanguage(
            "Avro", ".avsc", _read, _derive, _derive_single, by_writer=True, reading=read_dependencies
        ),
    )
