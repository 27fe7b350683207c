"""Rows of Python in Arrow's columns, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

from arro3.core import Array, DataType, RecordBatch, Table
from msgspec import Struct

from millstream.types import (
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


class Columns(Struct, frozen=True, eq=False):
    """A table, and the types that SQL makes of what it can't hold as it is."""

    table: Table
    casts: dict[str, str]
    """By column: an Arrow type as DataFusion's `arrow_cast` takes it."""


def to_arrow(columns: Sequence[tuple[str, Type]], rows: Sequence[Sequence[Any]], zone: str) -> Columns:
    """Return rows by column; dates, timestamps and decimals still as integers or texts."""
    arrays: dict[str, Any] = {}
    casts: dict[str, str] = {}
    for index, (name, wanted) in enumerate(columns):
        values = [row[index] for row in rows]
        kind, told, cast = _stored(wanted, zone)
        arrays[name] = Array([None if value is None else told(value) for value in values], kind)
        if cast:
            casts[name] = cast
    return Columns(Table.from_pydict(arrays), casts)


def _stored(wanted: Type, zone: str) -> tuple[DataType, Any, str]:
    """Return the Arrow type that values are put in, how, and the one that they are then cast to."""
    if wanted in INTEGERS:
        return DataType.int64(), int, ""
    if wanted in {FLOAT, DOUBLE}:
        return DataType.float64(), float, ""
    if isinstance(wanted, Decimal):
        return DataType.string(), str, f"Decimal128({wanted.precision}, {wanted.scale})"
    match wanted:
        case _ if wanted == BOOLEAN:
            return DataType.bool(), bool, ""
        case _ if wanted == BINARY:
            return DataType.binary(), bytes, ""
        case _ if wanted == DATE:
            return DataType.string(), date.isoformat, "Date32"
        case _ if wanted == TIMESTAMP:
            return DataType.int64(), _micros, f'Timestamp(Microsecond, Some("{zone}"))'
        case _ if wanted == TIMESTAMP_NTZ:
            return DataType.int64(), _micros, "Timestamp(Microsecond, None)"
        case _:
            return DataType.string(), str, ""


def _micros(value: datetime) -> int:
    aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def rows_of(batch: RecordBatch) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a batch; entries of maps, which come as pairs, as dicts."""
    columns = [batch.column(index) for index in range(batch.num_columns)]
    told = [[plain(value, column.type) for value in column.to_pylist()] for column in columns]
    return zip(*told, strict=True)


def plain(value: Any, kind: Any) -> Any:
    """Return a value with maps as dicts. The type of what a map holds can't be asked for: its values tell."""
    if isinstance(value, dict):
        types = {} if kind is None else {field.name: field.type for field in kind.fields}
        return {name: plain(each, types.get(name)) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    pairs = DataType.is_map(kind) if kind else bool(value) and all(isinstance(e, tuple) for e in value)
    if pairs:
        return {key: plain(each, None) for key, each in value}
    return [plain(each, kind.value_type if kind else None) for each in value]
