"""JSON Schema: the columns of the objects that a schema describes (drafts 4 to 2020-12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    Field,
    Map,
    Row,
    Type,
)
from millstream.formats.format import FieldCount, Fields, SchemaError

_TYPES = {"string": STRING, "integer": BIGINT, "number": DOUBLE, "boolean": BOOLEAN}
_FORMATS = {"date": DATE, "date-time": TIMESTAMP}
_DEEPEST = 100
_MOST_REFERENCES = 300
_TOO_DEEP = f"schemas are nested more than {_DEEPEST} levels deep"
_CHOICES = ("oneOf", "anyOf")
_CONNECT = {"int8": TINYINT, "int16": SMALLINT, "int32": INT, "int64": BIGINT, "float32": FLOAT}
"""`connect.type`, which Kafka Connect and Confluent's tools add to numbers."""


def columns_of(text: str, others: Mapping[str, str] | None = None) -> Fields:
    """Return the columns of a schema's objects; raise SchemaError if it has none.

    `others` are the schemas that it may refer to, by name.
    """
    schema = _decoded(text)
    reader = _Reader(schema, others or {})
    type_, _ = reader.type_of(schema, "", reader.root)
    if not isinstance(type_, Row):
        raise SchemaError("", "the schema does not describe an object with properties")
    required = reader.required(schema)
    return tuple(Field(field.name, field.type, nullable=field.name not in required) for field in type_.fields)


def columns_within_themselves(text: str, others: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the columns that are, or have within them, the JSON of values within their own schema."""
    schema = _decoded(text)
    reader = _Reader(schema, others or {})
    type_, _ = reader.type_of(schema, "", reader.root)
    names = [field.name for field in type_.fields] if isinstance(type_, Row) else []
    return tuple(
        name
        for name in names
        if any(
            path == name or path.startswith((f"{name}.", f"{name}[", f"{name}{{")) for path in reader.texts
        )
    )


def column_of(text: str, others: Mapping[str, str] | None = None) -> Field:
    """Return the only column of values that need not be objects; raise SchemaError if they have no type."""
    schema = _decoded(text)
    reader = _Reader(schema, others or {})
    type_, nullable = reader.type_of(schema, "", reader.root)
    return Field("value", type_, nullable)


def names_of_others(text: str) -> tuple[str, ...]:
    """Return the other schemas that one refers to itself, by name."""
    names: dict[str, None] = {}

    def visit(part: Any) -> None:
        match part:
            case dict():
                reference = part.get("$ref")
                if isinstance(reference, str) and (name := reference.partition("#")[0]):
                    names[name] = None
                for inner in part.values():
                    visit(inner)
            case list():
                for inner in part:
                    visit(inner)

    visit(_decoded(text))
    return tuple(names)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise SchemaError("", f"not JSON: {error}") from None
    except RecursionError:
        raise SchemaError("", _TOO_DEEP) from None


def _absolute(part: Any, name: str) -> Any:
    """Return a part of another schema; its references to itself name that schema."""
    match part:
        case dict():
            return {
                key: name + value
                if key == "$ref" and isinstance(value, str) and value.startswith("#")
                else _absolute(value, name)
                for key, value in part.items()
            }
        case list():
            return [_absolute(inner, name) for inner in part]
        case _:
            return part


class _ItselfError(SchemaError):
    """A schema within itself: no type has its depth, so its values are texts of JSON."""


class _Reader:
    def __init__(self, schema: Any, others: Mapping[str, str]) -> None:
        self.schemas = {"": schema}
        if isinstance(schema, Mapping) and isinstance(id_ := schema.get("$id"), str):
            self.schemas[id_.rstrip("#")] = schema
        self.root = tuple(f"{name}{end}" for name in self.schemas for end in ("", "#") if name or end)
        self.others = others
        self.texts: list[str] = []
        """Where values are texts."""
        self.count = FieldCount()
        self.depth = 0

    def required(self, schema: Any) -> frozenset[str]:
        """Return the properties that each object has, with a value that is not null."""
        schema, _ = self.merged(schema, "", self.root)
        properties = schema.get("properties", {})
        return frozenset(
            name
            for name in schema.get("required", ())
            if name in properties and not self.type_of(properties[name], name, self.root)[1]
        )

    def type_of(self, schema: Any, path: str, above: Sequence[str]) -> tuple[Type, bool]:
        """Return the type of a schema, and whether null is allowed."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise SchemaError(path, _TOO_DEEP)
        type_and_null = self.own_type(schema, path, above)
        self.depth -= 1
        return type_and_null

    def own_type(self, schema: Any, path: str, above: Sequence[str]) -> tuple[Type, bool]:
        try:
            schema, above = self.merged(schema, path, above)
        except _ItselfError:
            self.texts.append(path)
            return STRING, True
        kinds = schema.get("type", _implied(schema))
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        nullable = "null" in names or not names
        names = [name for name in names if name != "null"]
        choices = [branch for word in _CHOICES for branch in schema.get(word, ())]
        if choices and set(names) <= {"object"}:
            base = {name: value for name, value in schema.items() if name not in _CHOICES}
            type_, null = self.one_of(base if names else {}, choices, path, above)
            return type_, nullable if names else null
        if set(names) == {"integer", "number"}:
            names = ["number"]
        if len(names) > 1:
            raise SchemaError(path, f"its values have several types: {', '.join(names)}")
        return self.named(names[0] if names else "", schema, path, above), nullable

    def named(self, name: str, schema: Mapping[str, Any], path: str, above: Sequence[str]) -> Type:
        match name:
            case "object":
                return self.object(schema, path, above)
            case "array":
                items = schema.get("items")
                if not isinstance(items, Mapping | bool):
                    raise SchemaError(path, "an array needs one schema of its `items`")
                return Array(self.type_of(items, f"{path}[]", above)[0])
            case "":
                # Any value: its text, as in JSON.
                return STRING
            case "string":
                if schema.get("contentEncoding") == "base64":
                    return BINARY
                return _FORMATS.get(schema.get("format", ""), STRING)
            case _ if name in _TYPES:
                return _CONNECT.get(schema.get("connect.type", ""), _TYPES[name])
        raise SchemaError(path, f"'{name}' is not a type of JSON Schema")

    def object(self, schema: Mapping[str, Any], path: str, above: Sequence[str]) -> Type:
        properties = schema.get("properties", {})
        if properties:
            start = f"{path}." if path else ""
            return Row(
                tuple(
                    Field(name, self.type_of(property_, f"{start}{name}", above)[0])
                    for name, property_ in properties.items()
                )
            )
        values = schema.get("additionalProperties", True)
        if values is False:
            raise SchemaError(path, "its objects have no properties")
        return Map(STRING, self.type_of(values, f"{path}{{}}", above)[0])

    def one_of(
        self, base: Mapping[str, Any], choices: Sequence[Any], path: str, above: Sequence[str]
    ) -> tuple[Type, bool]:
        """Return the type of values that fit one of several schemas, and a base that all have.

        Objects have the properties of all.
        """
        types: list[tuple[Type, bool]] = []
        for branch in choices:
            if _is_null(branch):
                continue
            try:
                more, inner = self.merged(branch, path, above)
            except _ItselfError:
                self.texts.append(path)
                return STRING, any(map(_is_null, choices))
            types.append(self.type_of(_joined(base, more), path, inner))
        null = len(types) < len(choices) or any(nullable for _, nullable in types)
        return _united([kind for kind, _ in types], path) if types else STRING, null

    def merged(self, schema: Any, path: str, above: Sequence[str]) -> tuple[Mapping[str, Any], Sequence[str]]:
        """Follow `$ref` and join `allOf`; raise _ItselfError for a schema that is above."""
        self.count.add(path)
        if schema is True:
            return {}, above
        if not isinstance(schema, Mapping):
            raise SchemaError(path, "a schema is an object, or true")
        outer = above
        while "$ref" in schema:
            reference = schema["$ref"]
            if reference in outer:
                raise _ItselfError(path, f"'{reference}' contains itself")
            if reference in above:
                raise SchemaError(path, f"'{reference}' refers to itself, and says nothing else")
            above = (*above, reference)
            if len(above) > _MOST_REFERENCES:
                raise SchemaError(path, _TOO_DEEP)
            schema = self.referred(reference, path)
        parts = schema.get("allOf", ())
        if not parts:
            return schema, above
        joined: dict[str, Any] = {name: value for name, value in schema.items() if name != "allOf"}
        around = above
        for part in parts:
            more, inner = self.merged(part, path, around)
            above = tuple(dict.fromkeys((*above, *inner)))
            joined = _joined(joined, more)
        return joined, above

    def referred(self, reference: str, path: str) -> Any:
        schema, _, pointer = reference.partition("#")
        pointer = unquote(pointer)
        if schema not in self.schemas:
            if schema not in self.others:
                raise SchemaError(path, f"'{reference}' is in another file: put its definition into `$defs`")
            self.schemas[schema] = _absolute(_decoded(self.others[schema]), schema)
        target = self.schemas[schema]
        if pointer and not pointer.startswith("/"):
            target = next(_anchored(target, pointer), None)
        for part in pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(target, list) and name.isdecimal() and int(name) < len(target):
                target = target[int(name)]
            elif isinstance(target, Mapping):
                target = target.get(name)
            else:
                target = None
        if target is None:
            raise SchemaError(path, f"'{reference}' does not exist")
        return target


def _anchored(part: Any, name: str) -> Iterator[Any]:
    """Yield the part of a schema with an anchor; before `$anchor`, it was an `$id`."""
    match part:
        case dict():
            if part.get("$anchor") == name or part.get("$id") == f"#{name}":
                yield part
            for inner in part.values():
                yield from _anchored(inner, name)
        case list():
            for inner in part:
                yield from _anchored(inner, name)


def _united(types: Sequence[Type], path: str) -> Type:
    """Return the type of values that have one of several types: structs have the fields of all."""
    unique = list(dict.fromkeys(types))
    match unique:
        case [only]:
            return only
        case [one, other] if {one, other} == {BIGINT, DOUBLE}:
            return DOUBLE
        case [Row(), *others] if all(isinstance(type_, Row) for type_ in others):
            fields: dict[str, list[Type]] = {}
            for type_ in unique:
                for field in type_.fields if isinstance(type_, Row) else ():
                    fields.setdefault(field.name, []).append(field.type)
            start = f"{path}." if path else ""
            return Row(
                tuple(
                    Field(name, _united(field_types, f"{start}{name}"))
                    for name, field_types in fields.items()
                )
            )
    shown = ", ".join(map(str, unique))
    raise SchemaError(path, f"its values have several types: {shown}")


def _implied(schema: Mapping[str, Any]) -> list[str]:
    """Return the types of a schema without `type`."""
    if "properties" in schema:
        return ["object"]
    if "items" in schema:
        return ["array"]
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return list(dict.fromkeys(_kind(value) for value in values))


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type", _implied(schema)) in ("null", ["null"])


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    properties = {**one.get("properties", {}), **other.get("properties", {})}
    required = [*one.get("required", ()), *other.get("required", ())]
    schema = {**one, **other}
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = required
    return schema
