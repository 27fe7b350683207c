"""Protobuf: messages of a schema, plain or as Confluent's serializers frame them."""

from __future__ import annotations

from millstream.formats.format import Format, LocalCodec
from millstream.formats.protobuf.mapping import is_lossless
from millstream.formats.protobuf.reading import decode
from millstream.formats.protobuf.schema import Schema
from millstream.formats.protobuf.spark import spark_codec
from millstream.formats.protobuf.writing import encode

__all__ = ["Schema", "protobuf_format"]


def protobuf_format(schema: Schema) -> Format:
    return Format(
        media_type="application/x-protobuf",
        spark=spark_codec(schema),
        local=LocalCodec(
            lambda value, fields: decode(value, fields, schema),
            lambda value, fields: encode(value, fields, schema),
        ),
        round_trips=is_lossless,
    )
