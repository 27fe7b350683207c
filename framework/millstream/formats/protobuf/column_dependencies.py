"""Where Protobuf finds a column: by the number of its field, and those of all fields within it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from millstream.formats.column_dependencies import SCHEMA, digest_json
from millstream.formats.protobuf.schema import field_named, message_type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor


def read_dependencies(descriptors: str, message: str, column: str) -> Mapping[str, str]:
    descriptor = message_type(b64decode(descriptors), message)
    if not column:
        return {SCHEMA: digest_json([(field.number, *_within(field, set())) for field in descriptor.fields])}
    field = field_named(descriptor, column)
    return {"number": str(field.number), SCHEMA: digest_json(list(_within(field, set())))}


def _within(field: FieldDescriptor, seen: set[str]) -> Iterator[object]:
    oneof = field.containing_oneof.full_name if field.containing_oneof is not None else ""
    yield (field.name, field.type, field.is_repeated, field.has_presence, oneof)
    if field.enum_type is not None:
        yield [(symbol.name, symbol.number) for symbol in field.enum_type.values]
    message: Descriptor | None = field.message_type
    if message is not None and message.full_name not in seen:
        seen.add(message.full_name)
        yield message.full_name
        for inner in message.fields:
            yield inner.number
            yield from _within(inner, seen)
