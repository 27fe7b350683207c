"""A message type for columns, if a sink's schema comes from its model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
    Array,
    Decimal,
    Map,
    Row,
    Type,
)
from millstream.formats.format import Fields, SchemaError
from millstream.formats.protobuf.mapping import DURATION_MESSAGE, TIMESTAMP_MESSAGE

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto

_SCALARS: dict[Type, str] = {
    BOOLEAN: "bool",
    TINYINT: "int32",
    SMALLINT: "int32",
    INT: "int32",
    BIGINT: "int64",
    FLOAT: "float",
    DOUBLE: "double",
    STRING: "string",
    BINARY: "bytes",
    # Protobuf has no types for these: they are texts, as in JSON, and read back as what the column is.
    DATE: "string",
    TIMESTAMP_NTZ: "string",
}
_MESSAGES: dict[Type, str] = {TIMESTAMP: TIMESTAMP_MESSAGE, INTERVAL: DURATION_MESSAGE}
_KEYS = frozenset(("int32", "int64", "bool", "string"))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class DerivedSchema(Struct, frozen=True):
    text: str
    """The `.proto` file."""
    descriptors: bytes
    """What protoc makes of it, with all imports."""


def derived_schema(fields: Fields, message: str, file: str = "") -> DerivedSchema:
    """Return a message type of a full name, `shop.Order`: the fields are numbered in the order of columns.

    All are `optional`, so that they can hold NULL, except for arrays and maps, which Protobuf can't mark so.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    package, _, name = message.rpartition(".")
    target = FileDescriptorProto(name=file or f"{message}.proto", package=package or None, syntax="proto3")
    _Message(target.message_type.add(name=name), (message,)).add_all(fields, ())
    imports = _imports(fields)
    target.dependency.extend(imported.name for imported in imports)
    return DerivedSchema(proto_text(target), FileDescriptorSet(file=[*imports, target]).SerializeToString())


def _imports(fields: Fields) -> Sequence[Any]:
    from google.protobuf import duration_pb2, timestamp_pb2
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    from millstream.core.types import types_within

    types = {type_ for field in fields for type_ in types_within(field.type)}
    needed = [(INTERVAL, duration_pb2), (TIMESTAMP, timestamp_pb2)]
    files = [FileDescriptorProto() for type_, _ in needed if type_ in types]
    for file, module in zip(files, [module for type_, module in needed if type_ in types], strict=True):
        module.DESCRIPTOR.CopyToProto(file)
    return files


class _Message:
    """A message type in the making."""

    def __init__(self, target: DescriptorProto, names: tuple[str, ...]) -> None:
        self.target = target
        self.names = names
        self.taken: set[str] = set()

    def add_all(self, fields: Fields, path: tuple[str, ...]) -> None:
        self.taken = {column.name for column in fields}
        for column in fields:
            if isinstance(column.type, Map):
                self.reserve(_entry_name(column.name), (*path, column.name))
        json_names: dict[str, str] = {}
        for number, field in enumerate(fields, 1):
            here = (*path, field.name)
            if not _NAME.fullmatch(field.name):
                raise SchemaError(".".join(here), "not a name that Protobuf allows: letters, digits and '_'")
            other = json_names.setdefault(_json_name(field.name), field.name)
            if other != field.name:
                raise SchemaError(
                    ".".join(here), f"in Protobuf's JSON, the name is the same as that of {other}"
                )
            self.add(field.name, number, field.type, here)
        # Protobuf requires the oneofs of optional fields after all others.
        for descriptor in self.target.field:
            if descriptor.proto3_optional:
                descriptor.oneof_index = len(self.target.oneof_decl)
                self.target.oneof_decl.add(name=self.oneof(descriptor.name))

    def reserve(self, name: str, path: tuple[str, ...]) -> None:
        if name in self.taken:
            raise SchemaError(".".join(path), f"Protobuf needs the name {name} for the map; it is taken")
        self.taken.add(name)

    def add(self, name: str, number: int, type_: Type, path: tuple[str, ...]) -> None:
        field = self.target.field.add(name=name, number=number, json_name=_json_name(name), label=1)
        match type_:
            case Array(element=element):
                field.label = 3
                self.set_type(field, element, path)
            case Map(key=key, value=value):
                field.label, field.type = 3, 11
                field.type_name = self.entry(name, key, value, path)
            case _:
                field.proto3_optional = True
                self.set_type(field, type_, path)

    def set_type(self, field: Any, type_: Type, path: tuple[str, ...]) -> None:
        match type_:
            case Row(fields=fields):
                field.type = 11
                field.type_name = self.nested(_camel(field.name), fields, path)
            case Array() | Map():
                raise SchemaError(
                    ".".join(path), "Protobuf has no arrays or maps directly within arrays and maps"
                )
            case _ if type_ in _MESSAGES:
                field.type, field.type_name = 11, f".{_MESSAGES[type_]}"
            case _:
                field.type = NUMBERS[_scalar(type_, path)]

    def nested(self, name: str, fields: Fields, path: tuple[str, ...]) -> str:
        while name in self.taken:
            name = f"{name}_"
        self.taken.add(name)
        inner = _Message(self.target.nested_type.add(name=name), (*self.names, name))
        inner.add_all(fields, path)
        return f".{'.'.join(inner.names)}"

    def entry(self, field: str, key: Type, value: Type, path: tuple[str, ...]) -> str:
        name = _entry_name(field)
        if isinstance(key, Row | Array | Map | Decimal) or _scalar(key, path) not in _KEYS or key in _TEXTS:
            raise SchemaError(".".join(path), f"keys of maps can't be {key}")
        entry = self.target.nested_type.add(name=name)
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=1, json_name="key", type=NUMBERS[_scalar(key, path)])
        value_field = entry.field.add(name="value", number=2, label=1, json_name="value")
        if isinstance(value, Row):
            value_field.type, value_field.type_name = 11, self.nested(_camel(field), value.fields, path)
        else:
            self.set_type(value_field, value, path)
        return f".{'.'.join((*self.names, name))}"

    def oneof(self, field: str) -> str:
        """Return the name of a field's oneof that protoc gives to it."""
        name = field if field.startswith("_") else f"_{field}"
        while name in self.taken:
            name = f"X{name}"
        self.taken.add(name)
        return name


_TEXTS = frozenset((DATE, TIMESTAMP_NTZ))


def _scalar(type_: Type, path: tuple[str, ...]) -> str:
    if isinstance(type_, Decimal):
        return "string"
    if type_ not in _SCALARS:
        raise SchemaError(".".join(path), f"Protobuf has no type for {type_}")
    return _SCALARS[type_]


def _entry_name(field: str) -> str:
    """Return the name that protoc gives to the entries of a map."""
    return f"{_camel(field)}Entry"


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) or "Field"


def _json_name(name: str) -> str:
    return re.sub(r"_+(.?)", lambda match: match[1].upper(), name)


NUMBERS = {"double": 1, "float": 2, "int64": 3, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
"""The scalars, by the names that they have in a file: their numbers in descriptors."""
_WORDS = {number: name for name, number in NUMBERS.items()}


def proto_text(file: Any) -> str:
    """Return the text of a file with one message type, whose fields are all optional, repeated or maps."""
    lines = ['syntax = "proto3";', ""]
    lines += [f"package {file.package};", ""] if file.package else []
    lines += [f'import "{path}";' for path in file.dependency]
    lines += [""] if file.dependency else []
    lines += _message_text(file.message_type[0], "")
    return "\n".join(lines) + "\n"


def _message_text(message: Any, indent: str) -> list[str]:
    entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    lines = [f"{indent}message {message.name} {{"]
    for nested in message.nested_type:
        if not nested.options.map_entry:
            lines += [*_message_text(nested, f"{indent}  "), ""]
    for field in message.field:
        entry = entries.get(field.type_name.rpartition(".")[2])
        if entry is not None:
            type_ = f"map<{_type_text(entry.field[0])}, {_type_text(entry.field[1])}>"
        elif field.label == 3:
            type_ = f"repeated {_type_text(field)}"
        else:
            type_ = f"optional {_type_text(field)}"
        lines.append(f"{indent}  {type_} {field.name} = {field.number};")
    return [*lines, f"{indent}}}"]


def _type_text(field: Any) -> str:
    return field.type_name or _WORDS[field.type]
