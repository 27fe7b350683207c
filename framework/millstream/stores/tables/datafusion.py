"""Runs SQL over Delta tables and local rows without a JVM, by DataFusion within delta-rs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from itertools import chain, islice
from pathlib import Path
from typing import Any

from arro3.core import Array, DataType, RecordBatch, Table
from deltalake import DeltaTable, QueryBuilder, write_deltalake
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
from millstream.sql.dialect_words import quote_standard, respell_names
from millstream.stores.tables.datafusion_errors import problem_of
from millstream.stores.tables.relations import StoredRelation
from millstream.stores.tables.values import Answer


class OpenedTables:
    """The tables that one query can name; local rows become Delta tables in a temporary folder."""

    def __init__(self, zone: str, folder: Path) -> None:
        self.zone = zone
        self.folder = folder
        self.builder = QueryBuilder({"datafusion.execution.time_zone": zone})
        self.spellings: dict[str, set[str]] = {}
        """Spellings of tables and columns, by their lower case form."""
        self.schemas: set[str] = set()

    def add(self, relation: StoredRelation, table: DeltaTable) -> None:
        """Register a table that DataFusion reads directly, with the columns that its model has."""
        columns = {name.lower() for name, _ in relation.columns}
        fields = _schema(table)
        self._add(relation.name, table, {}, [f for f in fields if f.name.lower() in columns] or fields)

    def add_rows(
        self, relation: StoredRelation, columns: Sequence[tuple[str, Type]], rows: Sequence[Sequence[Any]]
    ) -> None:
        arrow, path = to_arrow(columns, rows, self.zone), str(self.folder / relation.name)
        write_deltalake(path, arrow.table)
        table = DeltaTable(path)
        self._add(relation.name, table, arrow.casts, _schema(table))

    def add_arrow(self, relation: StoredRelation, rows: Any) -> None:
        """Register rows of Arrow, with the columns that their model has."""
        path = str(self.folder / relation.name)
        write_deltalake(path, rows)
        self.add(relation, DeltaTable(path))

    def answer(self, sql: str, relations: Mapping[str, StoredRelation], limit: int | None) -> Answer:
        names = {
            lower: next(iter(spellings)) for lower, spellings in self.spellings.items() if len(spellings) == 1
        }
        try:
            reader = self.builder.execute(respell_names(sql, names))
            rows = chain.from_iterable(map(rows_of, reader))
            fetched = list(rows if limit is None else islice(rows, limit + 1))
        except Exception as error:  # noqa: BLE001 - DataFusion's own come as bare exceptions
            raise problem_of(sql, str(error), relations) from None
        more = limit is not None and len(fetched) > limit
        return Answer(tuple(reader.schema.names), fetched[:limit], more)

    def _add(self, name: str, table: DeltaTable, casts: Mapping[str, str], columns: Sequence[Any]) -> None:
        """Register a table under its name, as a view over it if columns must be cast, or left out."""
        schema, _, short = name.rpartition(".")
        if schema and schema not in self.schemas:
            self.schemas.add(schema)
            self._run(f"create schema {quote_standard(schema)}")
        full_name = f"{quote_standard(schema)}.{quote_standard(short)}" if schema else quote_standard(short)
        fields = [(field.name, field.type) for field in columns]
        casts = dict(casts) | self._zoned(fields)
        for spelling in filter(None, (schema, short, *(field for field, _ in fields))):
            self.spellings.setdefault(spelling.lower(), set()).add(spelling)
        if not casts and len(fields) == len(_schema(table)):
            self.builder.register(full_name, table)
            return
        hidden = quote_standard(f"{name} at rest")
        self.builder.register(hidden, table)
        items = (
            f"arrow_cast({quote_standard(field)}, '{casts[field]}') as {quote_standard(field)}"
            if field in casts
            else quote_standard(field)
            for field, _ in fields
        )
        self._run(f"create view {full_name} as select {', '.join(items)} from {hidden}")  # noqa: S608 - all quoted

    def _zoned(self, fields: list[tuple[str, Any]]) -> dict[str, str]:
        """Read timestamps in the target's zone, so that days and hours are the same as in Spark."""
        if self.zone == "UTC":
            return {}
        cast = f'Timestamp(Microsecond, Some("{self.zone}"))'
        return {name: cast for name, kind in fields if kind.tz}

    def _run(self, sql: str) -> None:
        self.builder.execute(sql).read_all()


def _schema(table: DeltaTable) -> list[Any]:
    arrow = table.schema().to_arrow()
    return [arrow.field(index) for index in range(len(arrow.names))]


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
