"""The types of a table's columns, as Arrow's."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    Simple,
    Type,
)

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES: dict[Type, str] = {
    BOOLEAN: "bool_",
    TINYINT: "int8",
    SMALLINT: "int16",
    INT: "int32",
    BIGINT: "int64",
    FLOAT: "float32",
    DOUBLE: "float64",
    STRING: "string",
    BINARY: "binary",
    DATE: "date32",
}


def arrow_type(type_: Type) -> pa.DataType:
    import pyarrow as pa

    match type_:
        case Decimal(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case Array(element=element):
            return pa.list_(arrow_type(element))
        case Map(key=key, value=value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Row(fields=fields):
            return pa.struct([(field.name, arrow_type(field.type)) for field in fields])
        case Simple():
            if type_ in {TIMESTAMP, TIMESTAMP_NTZ}:
                return pa.timestamp("us", tz="UTC" if type_ == TIMESTAMP else None)
            return getattr(pa, _NAMES[type_])()
