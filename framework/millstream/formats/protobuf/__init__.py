"""Protobuf: messages of a schema, plain or as Confluent's serializers frame them."""

from __future__ import annotations

from base64 import b64decode

from millstream.formats.format import Format, LocalCodec, SchemaLanguage
from millstream.formats.protobuf.column_dependencies import read_dependencies
from millstream.formats.protobuf.files import imports_of, place_of, read_files
from millstream.formats.protobuf.mapping import is_lossless
from millstream.formats.protobuf.reading import decode_protobuf
from millstream.formats.protobuf.schema import ProtobufSchema
from millstream.formats.protobuf.spark import spark_codec
from millstream.formats.protobuf.writing import encode_protobuf
from millstream.formats.registry import Encoding


def protobuf_format(schema: ProtobufSchema) -> Format:
    return Format(
        media_type="application/x-protobuf",
        spark=spark_codec(schema),
        local=LocalCodec(
            lambda value, fields: decode_protobuf(value, fields, schema),
            lambda value, fields: encode_protobuf(value, fields, schema),
        ),
        round_trips=is_lossless,
        schemas=SchemaLanguage(
            "Protobuf",
            ".proto",
            read_files,
            imports=imports_of,
            reading=read_dependencies,
            message_position=place_of,
        ),
    )


def format_of(encoding: Encoding) -> Format:
    descriptors = b64decode(encoding.schema)
    message_positions = tuple((writer.id, writer.schema) for writer in encoding.writers)
    id_, subject = encoding.schema_id, encoding.subject
    return protobuf_format(
        ProtobufSchema(descriptors, encoding.message, encoding.framing, id_, subject, message_positions)
    )
