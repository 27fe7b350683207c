"""Calls the user's functions that decode records, in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from millstream.core.user_code import SourceFile
from millstream.engine.python.forwarding import LogAddress, forwards
from millstream.engine.python.worker import traces
from millstream.formats.python.calling import DecodingFunction, decoding_function, row_of
from millstream.formats.python.checks import EXACT, ExpectedField, MisfitError, field_value, fitting_field

NO_VALUE = "the record has no value"
_CHANGING = frozenset({"array", "map", "struct", "binary"})
"""Types whose values in Python can change."""


class DecodedBatch(NamedTuple):
    """The records of a batch that could be decoded, and what became of the others."""

    values: list[tuple[Any, ...]]
    """The values of the columns of each row."""
    positions: list[int | None]
    """For each record that is not dropped: the index of its row, None if it is bad."""
    indexes: list[int]
    """The indexes of these records."""
    reasons: dict[int, dict[str | None, str]]
    """Why a record is bad, by its index: by column, or without one if all of it is bad."""


def decoding_call(
    source: SourceFile,
    name: str,
    fields: Sequence[ExpectedField],
    returns: Any,
    *,
    optional: bool,
    single: bool,
    log: LogAddress | None = None,
    driver: int = 0,
) -> Callable[..., Any]:
    """Return a function that Spark calls with a column of bytes.

    It returns lists with one struct of the fields and `_bad`, or without any for a record that is dropped.
    If it is given the topic, partition and offset of each record, what precedes a reason, and the columns
    that must be good, a bad record stops the query instead.
    """

    def call(values: Any, *locations: Any) -> Any:
        with traces(name, driver), forwards(name, log):
            row_decoder = decoding_function(source, name, optional=optional, single=single)
            batch = _batch(values.to_pylist(), row_decoder, fields)
        struct = returns.value_type
        by_column = zip(*batch.values, strict=True) if batch.values else ([] for _ in fields)
        columns = [
            _column(batch, list(column), fields[index], struct.field(index), row_decoder)
            for index, column in enumerate(by_column)
        ]
        missing = values.is_null() if values.null_count else None
        if locations and (wrong := _first(batch, missing, locations[4:])) is not None:
            raise RuntimeError(_failure(wrong, locations))
        return _lists(batch, columns, returns, len(values))

    return call


def _batch(
    records: Sequence[bytes | None], decoder: DecodingFunction, fields: Sequence[ExpectedField]
) -> DecodedBatch:
    take = _taking(decoder, fields)
    values: list[tuple[Any, ...]] = []
    positions: list[int | None] = []
    indexes: list[int] = []
    reasons: dict[int, dict[str | None, str]] = {}
    for index, record in enumerate(records):
        if record is None:
            reasons[index] = {None: NO_VALUE}
        else:
            try:
                row = row_of(decoder, record)
            except MisfitError as error:
                reasons[index] = {None: str(error)}
            else:
                if row is None and not decoder.single:
                    continue
                positions.append(len(values))
                indexes.append(index)
                values.append(take(row))
                continue
        positions.append(None)
        indexes.append(index)
    return DecodedBatch(values, positions, indexes, reasons)


def _taking(decoder: DecodingFunction, fields: Sequence[ExpectedField]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that takes the values of a row, or the problem of a value.

    They are taken before the next call, which may change and return the same object.
    """
    names = [field.name for field in fields]
    changing = [index for index, field in enumerate(fields) if field.type.kind in _CHANGING]
    get: Any = itemgetter(*names) if decoder.typed_dict else attrgetter(*names)

    def taken(row: Any) -> tuple[Any, ...]:
        try:
            row_values = get(row) if len(names) > 1 else (get(row),)
        except (AttributeError, KeyError):
            row_values = tuple(field_value(row, name) for name in names)
        return checked(row_values) if changing else row_values

    def checked(row_values: Sequence[Any]) -> tuple[Any, ...]:
        values = list(row_values)
        for index in changing:
            try:
                values[index] = fitting_field(values[index], fields[index])
            except MisfitError as error:
                values[index] = error
        return tuple(values)

    if decoder.single:
        return lambda row: checked((row,)) if changing else (row,)
    return taken


def _column(
    batch: DecodedBatch, values: list[Any], field: ExpectedField, arrow: Any, decoder: DecodingFunction
) -> Any:
    """Return the values of a column, and note the records in which one is wrong."""
    import pyarrow as pa

    exact = EXACT.get(field.type.kind) if field.type.text != "float" else None
    if exact and set(map(type, values)) <= (exact | {type(None)} if field.nullable else exact):
        try:
            return pa.array(values, arrow.type)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            pass  # a value doesn't fit: each is checked below, which finds it
    checked: list[Any] = []
    indexes = [
        index
        for index, row_index in zip(batch.indexes, batch.positions, strict=True)
        if row_index is not None
    ]
    is_checked = field.type.kind in _CHANGING
    for index, value in zip(indexes, values, strict=True):
        try:
            if isinstance(value, MisfitError):
                raise value
            checked.append(value if is_checked else fitting_field(value, field))
        except MisfitError as error:
            # A single value is all of its record.
            batch.reasons.setdefault(index, {})[None if decoder.single else field.name] = str(error)
            checked.append(None)
    return pa.array(checked, arrow.type)


def _first(batch: DecodedBatch, missing: Any, columns: Sequence[Any]) -> tuple[int, str] | None:
    """Return the first record that has a value and is bad, and why."""
    needed = {None, *(column[0].as_py() for column in columns)} if columns and len(columns[0]) else None
    for index in sorted(batch.reasons):
        if missing is None or not missing[index].as_py():
            for column, reason in batch.reasons[index].items():
                if needed is None or column in needed:
                    return index, reason
    return None


def _failure(wrong: tuple[int, str], locations: Sequence[Any]) -> str:
    index, reason = wrong
    topic, partition, offset, *prefix = (column[index].as_py() for column in locations[:4])
    start = f"bad record: topic {topic}, partition {partition}, offset {offset}"
    return f"{start}: {''.join(prefix)}{reason}"


def _lists(batch: DecodedBatch, columns: Sequence[Any], returns: Any, count: int) -> Any:
    import pyarrow as pa

    struct = returns.value_type
    parts = list(columns)
    if len(batch.values) < len(batch.indexes):
        positions = pa.array(batch.positions, pa.int32())
        parts = [column.take(positions) for column in columns]
    bad = struct.field(struct.num_fields - 1).type
    if batch.reasons:
        parts.append(pa.array([_entries(batch.reasons.get(index)) for index in batch.indexes], bad))
    else:
        parts.append(pa.nulls(len(batch.indexes), bad))
    rows = pa.StructArray.from_arrays(parts, fields=[struct.field(i) for i in range(struct.num_fields)])
    return pa.ListArray.from_arrays(_offsets(batch, count), rows, type=returns)


def _entries(reasons: Mapping[str | None, str] | None) -> list[dict[str, str | None]] | None:
    if reasons is None:
        return None
    return [{"column": column, "reason": reason} for column, reason in reasons.items()]


def _offsets(batch: DecodedBatch, count: int) -> Any:
    import pyarrow as pa

    if len(batch.indexes) == count:
        return pa.array(range(count + 1), pa.int32())
    indexes, offsets = set(batch.indexes), [0]
    for index in range(count):
        offsets.append(offsets[-1] + (index in indexes))
    return pa.array(offsets, pa.int32())
