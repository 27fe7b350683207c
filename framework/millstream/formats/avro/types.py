"""Avro's types as values."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

NUMBERS = ("int", "long", "float", "double")
PRIMITIVES = ("null", "boolean", *NUMBERS, "bytes", "string")
LOGICAL = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "decimal": ("bytes", "fixed"),
    "uuid": ("string",),
}
"""The logical types that change what a value means, and the types that they stand on; others are ignored."""


class AvroPrimitive(Struct, frozen=True):
    type: str
    logical: str = ""
    precision: int = 0
    scale: int = 0


class AvroFixed(Struct, frozen=True):
    name: str
    aliases: tuple[str, ...]
    size: int
    logical: str = ""
    precision: int = 0
    scale: int = 0
    type: str = "fixed"


class AvroEnum(Struct, frozen=True):
    name: str
    aliases: tuple[str, ...]
    symbols: tuple[str, ...]
    default: str = ""
    type: str = "enum"


class AvroArray(Struct, frozen=True):
    items: AvroType
    type: str = "array"


class AvroMap(Struct, frozen=True):
    values: AvroType
    type: str = "map"


class AvroUnion(Struct, frozen=True):
    types: tuple[AvroType, ...]
    type: str = "union"


class RecordField(Struct, frozen=True):
    name: str
    of: AvroType
    aliases: tuple[str, ...] = ()
    has_default: bool = False
    default: Any = None
    """As JSON."""


class AvroRecord(Struct, frozen=True):
    name: str
    aliases: tuple[str, ...]
    fields: tuple[RecordField, ...]
    type: str = "record"


class AvroReference(Struct, frozen=True):
    """A type that is defined elsewhere in the schema."""

    name: str
    type: str = "named"


Resolved: TypeAlias = AvroPrimitive | AvroFixed | AvroEnum | AvroArray | AvroMap | AvroUnion | AvroRecord
AvroType: TypeAlias = Resolved | AvroReference


class AvroSchema(Struct, frozen=True):
    root: AvroType
    names: dict[str, AvroFixed | AvroEnum | AvroRecord]

    def resolved(self, type_: AvroType) -> Resolved:
        return self.names[type_.name] if isinstance(type_, AvroReference) else type_

    def members(self, union: AvroUnion) -> tuple[int, ...]:
        """Return the indexes of a union's types without null."""
        return tuple(
            i for i, type_ in enumerate(union.types) if self.resolved(type_) != AvroPrimitive("null")
        )

    def largest(self, union: AvroUnion) -> int | None:
        """Return the index of the only type besides null, or of the larger of two numbers, or None."""
        members = self.members(union)
        if len(members) == 1:
            return members[0]
        types = [union.types[i] for i in members]
        for small, large in (("int", "long"), ("float", "double")):
            if len(types) == 2 and AvroPrimitive(small) in types and AvroPrimitive(large) in types:
                return union.types.index(AvroPrimitive(large))
        return None

    def is_struct(self, union: AvroUnion) -> bool:
        """Whether a union is a struct with a field for each of its types."""
        return len(self.members(union)) > 1 and self.largest(union) is None


def type_text(type_: AvroType) -> str:
    """Return a type as messages show it."""
    match type_:
        case AvroPrimitive() | AvroFixed() if type_.logical == "decimal":
            return f"decimal({type_.precision},{type_.scale})"
        case AvroPrimitive():
            return type_.logical or type_.type
        case AvroFixed():
            return f"fixed({type_.size}) {type_.name}"
        case AvroEnum() | AvroRecord():
            return f"{type_.type} {type_.name}"
        case AvroUnion():
            return f"union of {', '.join(map(type_text, type_.types))}"
        case AvroReference():
            return type_.name
        case _:
            return type_.type
