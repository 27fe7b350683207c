"""Schemas of Iceberg tables, as the JSON of Iceberg's specification."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import msgspec

from millstream.core.expressions import quote_name
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
    UNKNOWN,
    Array,
    Decimal,
    Field,
    Map,
    Row,
    Simple,
    Type,
)

_NAMES: dict[Type, str] = {
    BOOLEAN: "boolean",
    TINYINT: "int",
    SMALLINT: "int",
    INT: "int",
    BIGINT: "long",
    FLOAT: "float",
    DOUBLE: "double",
    STRING: "string",
    BINARY: "binary",
    DATE: "date",
    TIMESTAMP: "timestamptz",
    TIMESTAMP_NTZ: "timestamp",
}
_TYPES: dict[str, Type] = {name: type_ for type_, name in _NAMES.items()}
"""The last type of a name counts: `int` is read as an int, also for columns of smaller integers."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def schema_json(columns: Iterable[tuple[str, Type]]) -> str:
    fields = [Field(name, type_) for name, type_ in columns]
    return msgspec.json.encode(_struct(fields, count(1)) | {"schema-id": 0}).decode()


def columns_of(schema: str) -> list[tuple[str, Type]]:
    """Return the columns of a schema with the types as which Spark reads them."""
    return [(field["name"], _type(field["type"])) for field in msgspec.json.decode(schema)["fields"]]


def read_as(type_: Type) -> Type:
    """Return the type as which Spark reads a column that was created with a type."""
    return _type(_written(type_, count(1)))


def ddl_of(columns: Sequence[tuple[str, Type]]) -> str:
    return ", ".join(f"{quote_name(name)} {type_}" for name, type_ in columns)


def _struct(fields: Iterable[Field], ids: Iterator[int]) -> dict[str, Any]:
    written = [
        {"id": next(ids), "name": field.name, "required": False, "type": _written(field.type, ids)}
        for field in fields
    ]
    return {"type": "struct", "fields": written}


def _written(type_: Type, ids: Iterator[int]) -> Any:
    match type_:
        case Decimal(precision=precision, scale=scale):
            return f"decimal({precision}, {scale})"
        case Array(element=element):
            id_, written = next(ids), _written(element, ids)
            return {"type": "list", "element-id": id_, "element": written, "element-required": False}
        case Map(key=key, value=value):
            sides = {"key-id": next(ids), "key": _written(key, ids)}
            sides |= {"value-id": next(ids), "value": _written(value, ids)}
            return {"type": "map", **sides, "value-required": False}
        case Row(fields=fields):
            return _struct(fields, ids)
        case Simple():
            return _NAMES[type_]


def _type(written: Any) -> Type:
    """Return Spark's type; that of a column which another program added may be unknown."""
    if isinstance(written, str):
        if match := _DECIMAL.fullmatch(written):
            return Decimal(int(match[1]), int(match[2]))
        return _TYPES.get(written, UNKNOWN)
    match written["type"]:
        case "list":
            return Array(_type(written["element"]))
        case "map":
            return Map(_type(written["key"]), _type(written["value"]))
        case _:
            return Row(tuple(Field(field["name"], _type(field["type"])) for field in written["fields"]))
