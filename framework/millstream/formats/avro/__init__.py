"""Avro: records of a schema, plain or as Confluent's serializers frame them."""

from __future__ import annotations

from millstream.formats import Encoding
from millstream.formats.avro.codec import AvroEncoding, local_codec, spark_codec
from millstream.formats.avro.columns import columns_of, is_lossless, schema_of, with_defaults
from millstream.formats.avro.parse import essence, parse_schema
from millstream.formats.avro.references import self_contained
from millstream.formats.format import Fields, Format, ReadSchema, SchemaFiles, SchemaLanguage


def _read(files: SchemaFiles) -> ReadSchema:
    others = {name: text for name, text in files.texts.items() if name != files.path and not files.folders}
    text = self_contained(files.texts[files.path], others)
    schema = parse_schema(text)
    return ReadSchema(columns_of(schema), essence(text), optional=with_defaults(schema))


def _derive(fields: Fields, name: str) -> ReadSchema:
    text = schema_of(fields, name)
    return ReadSchema(columns_of(parse_schema(text)), text, text=text)


def format_of(encoding: Encoding) -> Format:
    writers = tuple((each.id, each.schema) for each in encoding.writers)
    own = AvroEncoding(encoding.schema, encoding.framing, "", writers, encoding.schema_id)
    return Format(
        media_type="application/vnd.apache.avro",
        spark=spark_codec(own),
        local=local_codec(own),
        round_trips=is_lossless,
        schemas=SchemaLanguage("Avro", ".avsc", _read, _derive, by_writer=True),
    )
