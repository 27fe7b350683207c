"""A message type of a compiled schema, and how its values are framed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from millstream.formats.format import SchemaError
from millstream.formats.registry import Framing
from millstream.formats.values import UnfitError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor


class ProtobufSchema(Struct, frozen=True):
    descriptors: bytes
    """A `FileDescriptorSet` with all imports."""
    message: str
    """The full name of the message type: `shop.Order`."""
    framing: Framing = "plain"
    id: int = 0
    """The id in a registry that encoded values have, if they are framed."""
    subject: str = ""
    """Where a registry has the schema of encoded values, if its id is not known."""
    message_positions: tuple[tuple[int, str], ...] = ()
    """Where schemas have the message, by id: `0.2`; empty if they lack it. Without any, all ids are good."""


@cache
def message_type(descriptors: bytes, message: str) -> Descriptor:
    """Return a message type; raise SchemaError if the schema has none of that name."""
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for file in files_of(descriptors):
        pool.Add(file)
    try:
        return pool.FindMessageTypeByName(message)
    except KeyError:
        raise SchemaError("", f"the schema has no message {message}") from None


def field_named(message: Descriptor, column: str) -> FieldDescriptor:
    """Return the field of a column; its name may differ in case."""
    if field := message.fields_by_name.get(column):
        return field
    similar = [field for field in message.fields if field.name.lower() == column.lower()]
    if len(similar) != 1:
        raise UnfitError(f"message {message.full_name} has no field {column}")
    return similar[0]


def message_indexes(descriptor: Descriptor) -> tuple[int, ...]:
    """Return the positions of a message and of those around it, the outermost first, in their file."""
    if descriptor.containing_type is None:
        return (list(descriptor.file.message_types_by_name).index(descriptor.name),)
    around = descriptor.containing_type
    return (*message_indexes(around), [nested.name for nested in around.nested_types].index(descriptor.name))


def files_of(descriptors: bytes) -> tuple[Any, ...]:
    """Return the files of a descriptor set, each after those that it imports."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    files = {file.name: file for file in FileDescriptorSet.FromString(descriptors).file}
    ordered: dict[str, Any] = {}

    def add(name: str) -> None:
        if name not in ordered and name in files:
            for imported in files[name].dependency:
                add(imported)
            ordered[name] = files[name]

    for name in files:
        add(name)
    return tuple(ordered.values())
