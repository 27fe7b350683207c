"""What the compatibility of Protobuf schemas depends on, read from their descriptors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from millstream.formats.format import SchemaFiles
from millstream.formats.protobuf.files import compile_files
from millstream.formats.protobuf.schema import files_of

_ENCODINGS = {
    "int32": "varint",
    "int64": "varint",
    "uint32": "varint",
    "uint64": "varint",
    "bool": "varint",
    "enum": "varint",
    "sint32": "zigzag",
    "sint64": "zigzag",
    "string": "text",
    "bytes": "text",
    "fixed32": "fixed32",
    "sfixed32": "fixed32",
    "fixed64": "fixed64",
    "sfixed64": "fixed64",
}
"""The scalars that can be read as each other; `float` and `double` only as themselves."""
_NAMES = (
    "", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group",
    "message", "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip
"""By the number of a type in descriptors."""


class FieldType(Struct, frozen=True):
    kind: str
    """scalar, map or message."""
    shown: str
    encoding: str = ""
    """Of a scalar."""
    message: str = ""
    """The full name of a message."""
    key: FieldType | None = None
    value: FieldType | None = None
    """Of a map."""


class ProtobufField(Struct, frozen=True):
    number: int
    name: str
    type: FieldType
    label: str = ""
    """As it is written in the file: repeated, optional, required or none."""
    group: str = ""
    """Its oneof."""


class ProtobufMessage(Struct, frozen=True):
    name: str
    """With its package."""
    local_name: str
    """Without it."""
    fields: dict[int, ProtobufField]
    messages: dict[str, ProtobufMessage]
    enums: dict[str, dict[int, str]]
    imported: bool = False


class ProtoFile(Struct, frozen=True):
    package: str
    messages: dict[str, ProtobufMessage]
    enums: dict[str, dict[int, str]]
    types: dict[str, ProtobufMessage]
    """All messages by full name, with those of imports."""


def read_file(files: SchemaFiles) -> ProtoFile:
    return _read(files.path, tuple(files.texts.items()), files.folders)


@lru_cache(maxsize=256)
def _read(path: str, texts: tuple[tuple[str, str], ...], folders: tuple[str, ...]) -> ProtoFile:
    """Compile a file once: each comparison in each direction needs it, and compiling starts a process."""
    *imports, main = files_of(compile_files(SchemaFiles(path, dict(texts), folders)))
    messages = {message.name: _message(message, main.package, "", main) for message in main.message_type}
    types = dict(_all(messages.values()))
    for file in imports:
        others = [_message(message, file.package, "", file, imported=True) for message in file.message_type]
        types |= dict(_all(others))
    return ProtoFile(main.package, messages, _enums(main), types)


def _all(messages: Iterable[ProtobufMessage]) -> Iterator[tuple[str, ProtobufMessage]]:
    for message in messages:
        yield message.name, message
        yield from _all(message.messages.values())


def _message(
    descriptor: Any, package: str, around: str, file: Any, *, imported: bool = False
) -> ProtobufMessage:
    local = f"{around}.{descriptor.name}" if around else descriptor.name
    entries = {message.name: message for message in descriptor.nested_type if message.options.map_entry}
    nested = [message for message in descriptor.nested_type if not message.options.map_entry]
    return ProtobufMessage(
        name=f"{package}.{local}" if package else local,
        local_name=local,
        fields={field.number: _field(field, descriptor, entries, file) for field in descriptor.field},
        messages={
            message.name: _message(message, package, local, file, imported=imported) for message in nested
        },
        enums=_enums(descriptor),
        imported=imported,
    )


def _field(field: Any, message: Any, entries: dict[str, Any], file: Any) -> ProtobufField:
    # An optional field of proto3 is in a oneof that the file does not have.
    grouped = field.HasField("oneof_index") and not field.proto3_optional
    group = message.oneof_decl[field.oneof_index].name if grouped else ""
    entry = entries.get(field.type_name.rpartition(".")[2]) if _NAMES[field.type] == "message" else None
    label = ""
    if entry is None and not grouped:
        label = _label(field, file)
    return ProtobufField(field.number, field.name, _type(field, entry), label, group)


def _label(field: Any, file: Any) -> str:
    if field.label == field.LABEL_REPEATED:
        return "repeated"
    if field.label == field.LABEL_REQUIRED:
        return "required"
    return "optional" if field.proto3_optional or file.syntax in {"", "proto2"} else ""


def _type(field: Any, entry: Any) -> FieldType:
    if entry is not None:
        key, value = (_type(entry_field, None) for entry_field in entry.field)
        return FieldType("map", f"map<{key.shown}, {value.shown}>", key=key, value=value)
    name = _NAMES[field.type]
    full = field.type_name.removeprefix(".")
    if name in {"message", "group"}:
        return FieldType("message", full, message=full)
    return FieldType("scalar", full or name, _ENCODINGS.get(name, name))


def _enums(descriptor: Any) -> dict[str, dict[int, str]]:
    return {
        enum.name: {symbol.number: symbol.name for symbol in reversed(enum.value)}
        for enum in descriptor.enum_type
    }
