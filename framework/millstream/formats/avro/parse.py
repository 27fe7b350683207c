"""Parses schemas, by the rules of Avro's Java library, with located reasons."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from millstream.formats.avro.defaults import fits_type
from millstream.formats.avro.types import (
    LOGICAL,
    PRIMITIVES,
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroReference,
    AvroSchema,
    AvroType,
    AvroUnion,
    RecordField,
    type_text,
)
from millstream.formats.format import SchemaError

_NAME = re.compile(r"[^\W\d]\w*")
_DEEPEST = 100


def parse_schema(text: str) -> AvroSchema:
    """Parse the JSON text of a schema."""
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise SchemaError("", f"not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    parser = _Parser()
    root = parser.type(decoded, "", "", 0)
    return AvroSchema(root, parser.names)


def schema_essence(text: str) -> str:
    """Return what decoding needs of a valid schema: all but its descriptions and spaces."""
    return msgspec.json.encode(_without_docs(msgspec.json.decode(text))).decode()


def _without_docs(definition: Any) -> Any:
    match definition:
        case list():
            return [_without_docs(part) for part in definition]
        case dict():
            return {
                key: part if key == "default" else _without_docs(part)
                for key, part in definition.items()
                if key != "doc"
            }
        case _:
            return definition


class _Parser:
    def __init__(self) -> None:
        self.names: dict[str, AvroFixed | AvroEnum | AvroRecord] = {}
        self.open: set[str] = set()
        """Records whose fields are being parsed, which may refer to them."""

    def type(self, definition: Any, space: str, path: str, depth: int) -> AvroType:
        if depth > _DEEPEST:
            raise SchemaError(path, f"types are nested more than {_DEEPEST} levels deep")
        match definition:
            case str():
                return self.named(definition, space, path)
            case list():
                return self.union(definition, space, path, depth)
            case {"type": str(kind)}:
                return self.complex(kind, definition, space, path, depth)
            case {"type": _}:
                raise SchemaError(path, "'type' is not the name of a type")
            case dict():
                raise SchemaError(path, "the schema has no 'type'")
            case _:
                raise SchemaError(path, f"{msgspec.json.encode(definition).decode()} is not a type")

    def named(self, name: str, space: str, path: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroPrimitive(name)
        for full in (_full(name, space), name):
            if full in self.open or full in self.names:
                return AvroReference(full)
        raise SchemaError(path, f"unknown type '{name}'")

    def union(self, definition: list[Any], space: str, path: str, depth: int) -> AvroUnion:
        types = tuple(self.type(branch, space, path, depth + 1) for branch in definition)
        seen: set[str] = set()
        for type_ in types:
            if isinstance(type_, AvroUnion):
                raise SchemaError(path, "a union contains a union")
            name = (
                type_.name
                if isinstance(type_, AvroReference | AvroRecord | AvroEnum | AvroFixed)
                else type_.type
            )
            if name in seen:
                raise SchemaError(path, f"a union contains {name} twice")
            seen.add(name)
        if not types:
            raise SchemaError(path, "a union is empty")
        return AvroUnion(types)

    def complex(self, kind: str, definition: dict[str, Any], space: str, path: str, depth: int) -> AvroType:
        match kind:
            case "array":
                return AvroArray(self.type(_of(definition, "items", path), space, f"{path}[]", depth + 1))
            case "map":
                return AvroMap(self.type(_of(definition, "values", path), space, f"{path}{{}}", depth + 1))
            case "record" | "error":
                return self.record(definition, space, path, depth)
            case "enum":
                return self.enum(definition, space, path)
            case "fixed":
                return self.fixed(definition, space, path)
            case _ if kind in PRIMITIVES:
                logical, precision, scale = _logical(kind, definition, path)
                return AvroPrimitive(kind, logical, precision, scale)
            case _:
                return self.named(kind, space, path)

    def record(self, definition: dict[str, Any], space: str, path: str, depth: int) -> AvroRecord:
        name = self.define(definition, space, path)
        self.open.add(name)
        fields: list[RecordField] = []
        if not isinstance(declarations := _of(definition, "fields", path), list):
            raise SchemaError(path, "'fields' is not a list")
        for declaration in declarations:
            field = self.field(declaration, _space(name), path, depth)
            if any(field.name == other.name for other in fields):
                raise SchemaError(_join(path, field.name), "the record has two fields of this name")
            fields.append(field)
        self.open.discard(name)
        self.names[name] = record = AvroRecord(name, _aliases(definition, _space(name), path), tuple(fields))
        return record

    def field(self, definition: Any, space: str, path: str, depth: int) -> RecordField:
        match definition:
            case {"name": str(name)} if _NAME.fullmatch(name):
                pass
            case _:
                raise SchemaError(
                    path, f"{msgspec.json.encode(definition).decode()} is not a field with a name"
                )
        path = _join(path, name)
        of = self.type(_of(definition, "type", path), space, path, depth + 1)
        default = definition.get("default")
        if "default" in definition and not fits_type(default, of, self.names):
            shown = msgspec.json.encode(default).decode()
            raise SchemaError(path, f"the default {shown} is not {type_text(of)}")
        aliases = tuple(alias for alias in definition.get("aliases") or () if isinstance(alias, str))
        return RecordField(name, of, aliases, "default" in definition, default)

    def enum(self, definition: dict[str, Any], space: str, path: str) -> AvroEnum:
        name = self.define(definition, space, path)
        symbols, default = definition.get("symbols"), definition.get("default")
        if not isinstance(symbols, list) or not all(
            isinstance(s, str) and _NAME.fullmatch(s) for s in symbols
        ):
            raise SchemaError(path, "'symbols' is not a list of names")
        if len(set(symbols)) < len(symbols):
            raise SchemaError(path, "the enum has a symbol twice")
        if default is not None and default not in symbols:
            raise SchemaError(path, f"the default '{default}' is not a symbol of the enum")
        enum = AvroEnum(name, _aliases(definition, _space(name), path), tuple(symbols), default or "")
        self.names[name] = enum
        return enum

    def fixed(self, definition: dict[str, Any], space: str, path: str) -> AvroFixed:
        name = self.define(definition, space, path)
        size = definition.get("size")
        if type(size) is not int or not 0 <= size < 2**31:
            raise SchemaError(path, "'size' is not a number of bytes")
        fixed = AvroFixed(
            name, _aliases(definition, _space(name), path), size, *_logical("fixed", definition, path)
        )
        self.names[name] = fixed
        return fixed

    def define(self, definition: dict[str, Any], space: str, path: str) -> str:
        name = definition.get("name")
        if not isinstance(name, str) or not all(map(_NAME.fullmatch, name.split("."))):
            raise SchemaError(path, f"{definition['type']} has no valid name")
        namespace = definition.get("namespace")
        full = _full(name, namespace if isinstance(namespace, str) else space)
        if full in self.names or full in self.open or full in PRIMITIVES:
            raise SchemaError(path, f"the type {full} is defined twice")
        return full


def _of(definition: dict[str, Any], key: str, path: str) -> Any:
    if key not in definition:
        raise SchemaError(path, f"{definition.get('name') or definition.get('type')} has no '{key}'")
    return definition[key]


def _aliases(definition: dict[str, Any], space: str, path: str) -> tuple[str, ...]:
    aliases = definition.get("aliases") or []
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise SchemaError(path, "'aliases' is not a list of names")
    return tuple(_full(alias, space) for alias in aliases)


def _logical(kind: str, definition: dict[str, Any], path: str) -> tuple[str, int, int]:
    """Return a logical type, its precision and its scale; by the specification, others are ignored."""
    logical = definition.get("logicalType")
    if not isinstance(logical, str) or kind not in LOGICAL.get(logical, ()):
        return "", 0, 0
    if logical != "decimal":
        return logical, 0, 0
    precision, scale = definition.get("precision"), definition.get("scale", 0)
    if type(precision) is not int or precision <= 0:
        raise SchemaError(path, "a decimal has no precision")
    if type(scale) is not int or not 0 <= scale <= precision:
        raise SchemaError(path, f"the scale of a decimal is not between 0 and its precision, {precision}")
    if kind == "fixed" and (size := definition.get("size")) is not None and type(size) is int:
        most = math.floor(math.log10(2) * (8 * size - 1))
        if precision > most:
            raise SchemaError(path, f"{size} bytes hold {most} digits, not {precision}")
    return logical, precision, scale


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _space(name: str) -> str:
    return name.rpartition(".")[0]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
