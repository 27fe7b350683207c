"""Names of types in other databases, with the type of Spark SQL to use instead."""

from __future__ import annotations

from millstream.core.errors import did_you_mean
from millstream.core.types import NAMES

_JSON = "use string for the JSON as text, struct<…> with its fields, or variant"
_NUMBER = 'use bigint for whole numbers, "decimal(10,2)" with your digits, or double'
_INSTEAD = {
    "string": (
        "varchar",
        "char",
        "text",
        "str",
        "nvarchar",
        "nchar",
        "bpchar",
        "clob",
        "uuid",
        "time",
        "enum",
    ),
    "boolean": ("bool", "bit"),
    "smallint": ("int16", "int2"),
    "int": ("int32", "int4", "mediumint"),
    "bigint": ("int64", "bigserial", "serial"),
    "float": ("float32", "float4"),
    "double": ("float64", "float8"),
    "binary": ("bytes", "bytea", "varbinary", "blob"),
    "timestamp": ("timestamptz", "timestamp_tz"),
}
_REMEDIES = {name: f"use {instead}" for instead, names in _INSTEAD.items() for name in names} | {
    "datetime": "use timestamp, or timestamp_ntz for a time without a time zone",
    "json": _JSON,
    "jsonb": _JSON,
    "object": _JSON,
    "record": "use struct<…> with its fields",
    "list": "use array<…>, such as array<string>",
    "number": _NUMBER,
    "bignumeric": _NUMBER,
    "int8": "use bigint for 64 bits, or tinyint for 8",
}


def type_remedy(name: str, otherwise: str) -> str:
    """Return which type to use instead of an unknown one."""
    return _REMEDIES.get(name.lower()) or did_you_mean(name, NAMES, otherwise)
