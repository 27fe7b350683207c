"""A JSON Schema of columns, as Confluent's tools write it: numbers have a `connect.type`."""

from __future__ import annotations

from typing import Any

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
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    Decimal,
    Map,
    Row,
    Type,
)
from millstream.formats.format import Fields, SchemaError

_DRAFT = "http://json-schema.org/draft-07/schema#"
_TYPES: dict[Type, dict[str, Any]] = {
    BOOLEAN: {"type": "boolean"},
    TINYINT: {"type": "integer", "connect.type": "int8"},
    SMALLINT: {"type": "integer", "connect.type": "int16"},
    INT: {"type": "integer", "connect.type": "int32"},
    BIGINT: {"type": "integer", "connect.type": "int64"},
    STRING: {"type": "string"},
    BINARY: {"type": "string", "contentEncoding": "base64"},
    DATE: {"type": "string", "format": "date"},
    TIMESTAMP: {"type": "string", "format": "date-time"},
    TIMESTAMP_NTZ: {"type": "string"},
    FLOAT: {"type": "number", "connect.type": "float32"},
    DOUBLE: {"type": "number", "connect.type": "float64"},
}


def schema_of(fields: Fields, name: str) -> str:
    """Return a schema of objects with these fields; raise SchemaError for a type that it can't describe.

    Objects have no other properties: otherwise, a registry would take each new field for a breaking one.
    """
    required = [field.name for field in fields if not field.nullable]
    schema = {"$schema": _DRAFT, "title": name, **_object(fields, "")}
    return _text({**schema, "required": required} if required else schema)


def schema_of_single(type_: Type, name: str) -> str:
    return _text({"$schema": _DRAFT, "title": name, **_schema(type_, "")})


def _object(fields: Fields, path: str) -> dict[str, Any]:
    start = f"{path}." if path else ""
    properties = {field.name: _schema(field.type, f"{start}{field.name}") for field in fields}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _schema(type_: Type, path: str) -> dict[str, Any]:
    match type_:
        case Decimal():
            return {"type": "number"}
        case Array(element=element):
            return {"type": "array", "items": _or_null(_schema(element, f"{path}[]"))}
        case Map(value=value):
            return {"type": "object", "additionalProperties": _or_null(_schema(value, f"{path}{{}}"))}
        case Row(fields=fields):
            return _object(fields, path)
        case _ if type_ in _TYPES:
            return _TYPES[type_]
    raise SchemaError(path, f"JSON Schema has no type for {type_}")


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, schema]}


def _text(schema: Any) -> str:
    return msgspec.json.encode(schema).decode()
