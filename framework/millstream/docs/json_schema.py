"""Columns as JSON Schema: the records of a topic, as Spark writes them in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.compile.manifest import ManifestColumn
from millstream.core.types import Array, Decimal, Map, Row, Simple, Type, TypeSyntaxError, parse_type
from millstream.formats.changes import AFTER, CREATED, DELETED, READ, UPDATED, envelope

_SIMPLE: dict[str, dict[str, Any]] = {
    "boolean": {"type": "boolean"},
    "string": {"type": "string"},
    "binary": {"type": "string", "contentEncoding": "base64"},
    "tinyint": {"type": "integer", "minimum": -(2**7), "maximum": 2**7 - 1},
    "smallint": {"type": "integer", "minimum": -(2**15), "maximum": 2**15 - 1},
    "int": {"type": "integer", "format": "int32"},
    "bigint": {"type": "integer", "format": "int64"},
    "float": {"type": "number", "format": "float"},
    "double": {"type": "number", "format": "double"},
    "date": {"type": "string", "format": "date"},
    "timestamp": {"type": "string", "format": "date-time"},
    "timestamp_ntz": {"type": "string"},
    "interval": {"type": "string"},
    "void": {"type": "null"},
}


def of_columns(columns: Sequence[ManifestColumn]) -> dict[str, Any]:
    """Return the schema of a record; only columns that are never NULL are required, since NULL is omitted."""
    properties: dict[str, Any] = {}
    for column in columns:
        description = {"description": column.description} if column.description else {}
        properties[column.name] = of_text(column.type) | description
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [column.name for column in columns if not column.nullable]
    return schema | ({"required": required} if required else {})


def of_changes(row: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a change of such a row, in which NULL is written."""
    properties = {field.name: of_type(field.type) for field in envelope(())}
    fields = {
        name: schema if name in row.get("required", ()) else _or_null(schema)
        for name, schema in row["properties"].items()
    }
    nullable_row = _or_null({"type": "object", "properties": fields, "required": [*fields]})
    either = {"before": nullable_row, AFTER: nullable_row}
    op = {"op": {"type": "string", "enum": [CREATED, UPDATED, DELETED, READ]}}
    return {"type": "object", "properties": properties | either | op, "required": [*properties]}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return schema | {"type": [schema["type"], "null"]} if "type" in schema else schema


def of_text(text: str) -> dict[str, Any]:
    try:
        return of_type(parse_type(text))
    except TypeSyntaxError:
        return {}  # `unknown`: anything


def of_type(type_: Type) -> dict[str, Any]:
    match type_:
        case Simple():
            return dict(_SIMPLE.get(type_.name, {}))
        case Decimal():
            return {"type": "number"}
        case Array():
            return {"type": "array", "items": of_type(type_.element)}
        case Map():
            return {"type": "object", "additionalProperties": of_type(type_.value)}
        case Row():
            return {
                "type": "object",
                "properties": {field.name: of_type(field.type) for field in type_.fields},
            }
