"""Converts Python rows to Arrow columns, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

from arro3.core import Array, DataType, RecordBatch, Table
from msgspec import Struct

from millstream.core.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Type,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class ArrowRows(Struct, frozen=True, eq=False):
    """An Arrow table, and casts to types that it can't hold directly."""

    table: Table
    casts: dict[str, str]
    """The Arrow type for DataFusion's `arrow_cast`, by column."""


def to_arrow(columns: Sequence[tuple[str, Type]], rows: Sequence[Sequence[Any]], zone: str) -> ArrowRows:
    """Return rows by column; dates, timestamps and decimals are integers or texts until they are cast."""
    arrays: dict[str, Any] = {}
    casts: dict[str, str] = {}
    for index, (name, type_) in enumerate(columns):
        values = [row[index] for row in rows]
        kind, convert, cast = _conversion(type_, zone)
        arrays[name] = Array([None if value is None else convert(value) for value in values], kind)
        if cast:
            casts[name] = cast
    return ArrowRows(Table.from_pydict(arrays), casts)


def _conversion(type_: Type, zone: str) -> tuple[DataType, Any, str]:
    """Return the Arrow type of stored values, their conversion, and the type that they are cast to."""
    if type_ in INTEGERS:
        return DataType.int64(), int, ""
    if type_ in {FLOAT, DOUBLE}:
        return DataType.float64(), float, ""
    if isinstance(type_, Decimal):
        return DataType.string(), str, f"Decimal128({type_.precision}, {type_.scale})"
    conversions: dict[Type, tuple[DataType, Any, str]] = {
        BOOLEAN: (DataType.bool(), bool, ""),
        BINARY: (DataType.binary(), bytes, ""),
        DATE: (DataType.string(), date.isoformat, "Date32"),
        TIMESTAMP: (DataType.int64(), _micros, f'Timestamp(Microsecond, Some("{zone}"))'),
        TIMESTAMP_NTZ: (DataType.int64(), _micros, "Timestamp(Microsecond, None)"),
    }
    return conversions.get(type_, (DataType.string(), str, ""))


def _micros(value: datetime) -> int:
    aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def rows_of(batch: RecordBatch) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a batch; maps, which Arrow returns as pairs, become dicts."""
    columns = [batch.column(index) for index in range(batch.num_columns)]
    converted = [[plain_value(value, column.type) for value in column.to_pylist()] for column in columns]
    return zip(*converted, strict=True)


def plain_value(value: Any, kind: Any) -> Any:
    """Return a value with maps as dicts. Arrow doesn't expose the value types of maps, so values decide."""
    if isinstance(value, dict):
        types = {} if kind is None else {field.name: field.type for field in kind.fields}
        return {name: plain_value(nested, types.get(name)) for name, nested in value.items()}
    if not isinstance(value, list):
        return value
    pairs = DataType.is_map(kind) if kind else bool(value) and all(isinstance(e, tuple) for e in value)
    if pairs:
        return {key: plain_value(nested, None) for key, nested in value}
    return [plain_value(nested, kind.value_type if kind else None) for nested in value]
