"""The columns of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    Row,
    Type,
)
from millstream.formats.format import FieldCount
from millstream.formats.protobuf.schema import message_type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

UINT64 = Decimal(20, 0)
WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
JSON = frozenset(("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"))
TIMESTAMP_MESSAGE = "google.protobuf.Timestamp"
DURATION_MESSAGE = "google.protobuf.Duration"
_WELL_KNOWN: dict[str, Type] = {
    TIMESTAMP_MESSAGE: TIMESTAMP,
    DURATION_MESSAGE: INTERVAL,
    **dict.fromkeys(JSON, STRING),
}
_SCALARS: dict[int, Type] = {
    # The numbers of google.protobuf.FieldDescriptorProto.Type, so that the runtime need not be imported.
    1: DOUBLE,
    2: FLOAT,
    3: BIGINT,  # int64
    4: UINT64,  # uint64: more than a bigint holds
    5: INT,  # int32
    6: UINT64,  # fixed64
    7: BIGINT,  # fixed32: more than an int holds
    8: BOOLEAN,
    9: STRING,
    12: BINARY,
    13: BIGINT,  # uint32
    14: STRING,  # an enum, by name
    15: INT,  # sfixed32
    16: BIGINT,  # sfixed64
    17: INT,  # sint32
    18: BIGINT,  # sint64
}
_LOSSLESS = frozenset((BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY)) | frozenset(
    (DATE, TIMESTAMP, TIMESTAMP_NTZ, INTERVAL)
)


def columns_of(descriptors: bytes, message: str) -> tuple[Field, ...]:
    """Return the columns of a message type: a field each, except for messages without fields.

    A message within one of its own type is a string: its JSON.
    """
    descriptor = message_type(descriptors, message)
    return _Columns(STRING).fields(descriptor, ())


def text_type(message: Descriptor) -> Row:
    """Return the type of the JSON of a message; what is within that of its own type is a variant."""
    return Row(_Columns(VARIANT).fields(message, ()))


def contains_itself(message: Descriptor) -> bool:
    """Whether a message may have one of its own type within it."""
    seen: set[str] = set()

    def reaches(descriptor: Descriptor) -> bool:
        seen.add(descriptor.full_name)
        inner = [field.message_type for field in descriptor.fields if field.message_type is not None]
        return any(
            nested.full_name == message.full_name or (nested.full_name not in seen and reaches(nested))
            for nested in inner
        )

    return reaches(message)


class _Columns(Struct, frozen=True):
    cut: Type
    """The type of a message within one of its own type."""
    count: FieldCount = msgspec.field(default_factory=FieldCount)

    def fields(self, message: Descriptor, around: tuple[str, ...]) -> tuple[Field, ...]:
        types = [(field, self.type(field, (*around, message.full_name))) for field in message.fields]
        return tuple(
            Field(field.name, type_, nullable=bool(around) or is_nullable(field))
            for field, type_ in types
            if type_ is not None
        )

    def type(self, field: FieldDescriptor, around: tuple[str, ...]) -> Type | None:
        if is_map(field):
            key, value = entry_fields(field)
            value_type = self.single(value, around)
            return None if value_type is None else Map(_SCALARS[key.type], value_type)
        type_ = self.single(field, around)
        return Array(type_) if field.is_repeated and type_ is not None else type_

    def single(self, field: FieldDescriptor, around: tuple[str, ...]) -> Type | None:
        self.count.add(field.full_name)
        message = field.message_type
        if message is None:
            return _SCALARS[field.type]
        name = message.full_name
        if self.cut == VARIANT and name in JSON:
            return VARIANT
        if name in _WELL_KNOWN and not (self.cut == VARIANT and name == DURATION_MESSAGE):
            return _WELL_KNOWN[name]
        if name in WRAPPERS:
            return _SCALARS[message.fields_by_name["value"].type]
        if name in around:
            return self.cut
        return Row(fields) if (fields := self.fields(message, around)) else None


def is_nullable(field: FieldDescriptor) -> bool:
    """Whether a message can lack a value: there are empty arrays and defaults in place of NULL."""
    return bool(field.has_presence) and not (field.is_required or field.has_default_value)


def is_map(field: FieldDescriptor) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def entry_fields(field: FieldDescriptor) -> tuple[FieldDescriptor, FieldDescriptor]:
    """Return the key and the value of a map."""
    by_name = field.message_type.fields_by_name
    return by_name["key"], by_name["value"]


def is_lossless(type_: Type) -> bool:
    """Whether a value of a type stays the same in a message that was derived from it."""
    match type_:
        case Array(element=element):
            return is_lossless(element)
        case Map(key=key, value=value):
            return is_lossless(key) and is_lossless(value)
        case Row(fields=fields):
            return all(is_lossless(field.type) for field in fields)
        case Decimal():
            return True
        case _:
            return type_ in _LOSSLESS
