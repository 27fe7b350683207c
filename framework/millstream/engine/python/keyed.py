"""Keyed functions, run by `transformWithState`, which needs RocksDB and protobuf.

Spark's alternative, `applyInPandasWithState`, takes ten times as long for each key (3 ms, for a data frame),
turns integers with NULLs into floats, and readers of its rows may fail (a ClassCastException in 4.2.0).
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import DataType

from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.core.expressions import quote_name
from millstream.core.types import Row as Struct
from millstream.core.user_code import (
    SourceFile,
    arrow_converter,
    describe_failure,
    module_of,
    struct_of,
    to_arrow,
)
from millstream.engine.python import worker
from millstream.engine.python.forwarding import LogAddress, forwards
from millstream.engine.python.functions import source_of
from millstream.engine.python.return_checks import Fit, WrongReturnError, fit_of_rows
from millstream.engine.python.stored_states import state_bytes, state_in
from millstream.engine.python.worker import FAILED
from millstream.engine.spark.settings import use_rocksdb
from millstream.plan.durations import duration_millis
from millstream.project.values import Function, Project
from millstream.queries.emit.fuse import unused_name
from millstream.queries.emit.steps import StatefulView
from millstream.queries.values import OutputMode

# Workers of a cluster need no Millstream: pickle sends them this module.
cloudpickle.register_pickle_by_value(worker)  # type: ignore[no-untyped-call]

_NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


def yielded_rows(
    session: SparkSession,
    project: Project,
    step: StatefulView,
    mode: OutputMode,
    log: LogAddress | None = None,
) -> DataFrame:
    """Return the rows that a function yields for the rows of each key.

    The rows of a key are not ordered, neither by event time nor reliably by their topic.
    """
    use_rocksdb(session)
    if step.ttl and not step.time:
        # With a time to live, Spark would always run another batch, even without rows (SPARK-50180).
        session.conf.set(_NO_DATA, "false")
    # A batch query has state too, but only a StreamingQueryManager starts the stores' coordinator.
    _ = session.streams
    function = project.functions[step.function]
    input_rows = session.table(step.of)
    fields = _fields(function, input_rows.columns)
    columns = dict.fromkeys((*step.keys, *fields.values(), *((step.time,) if step.time else ())))
    assert isinstance(function.returns, Struct)
    yielded = [field.name for field in function.returns.fields]
    results = step.columns[:-1] if step.times else step.columns
    types = [to_arrow_type(DataType.fromDDL(str(column.type)), timezone="UTC") for column in results]
    ttl = duration_millis(step.ttl) if step.ttl else None
    keyed = (KeyedByEventTime if step.time else KeyedProcessor)(
        source_of(project, function),
        function.name,
        {name: [*columns].index(column) for name, column in fields.items()},
        dict(zip(yielded, (column.name for column in results), strict=True)),
        pa.struct(list(zip(yielded, types, strict=True))),
        ttl,
        log,
        step.keys,
    )
    if isinstance(keyed, KeyedByEventTime):
        keyed.streaming = input_rows.isStreaming
    schema = ", ".join(f"{quote_name(column.name)} {column.type}" for column in results)
    selected = [f.col(quote_name(name)) for name in columns]
    if step.times:
        keyed.times = (len(selected), step.columns[-1].name)
        schema += f", {quote_name(step.columns[-1].name)} bigint"
        selected.append(f.unix_micros(quote_name(step.times)).alias(unused_name(_TIMES, columns)))
    if step.time:
        # The event time itself must remain among the columns: Spark drops late rows by it.
        selected.append(f.unix_micros(quote_name(step.time)).alias(unused_name(_MICROS, columns)))
    rows = input_rows.select(*selected).groupBy(*map(quote_name, step.keys))
    yielded_by_key = rows.transformWithState(
        keyed, schema, mode, _time_mode(step, streaming=input_rows.isStreaming)
    )
    if not step.times:
        return yielded_by_key
    time = step.columns[-1].name
    return yielded_by_key.withColumn(time, f.timestamp_micros(quote_name(time)))


def _time_mode(step: StatefulView, *, streaming: bool) -> str:
    if not step.ttl:
        return "none"
    if not step.time:
        return "processingTime"
    return "eventTime" if streaming else "none"  # a batch has no watermark


def _fields(function: Function, columns: Iterable[str]) -> dict[str, str]:
    """Return the column of each field of a row."""
    columns_by_name = {column.lower(): column for column in columns}
    row = function.parameters[1].type
    assert isinstance(row, Struct)
    missing = [field.name for field in row.fields if field.name.lower() not in columns_by_name]
    if missing:
        rows = "a column of the rows that it is called on"
        message = f"{function.name}() reads '{missing[0]}', which is not {rows}"
        all_columns = f"columns: {', '.join(columns_by_name.values())}"
        remedy = did_you_mean(missing[0], columns_by_name.values(), all_columns)
        raise MillstreamError(Diagnostic("MS877", message, function.location, remedy))
    return {field.name: columns_by_name[field.name.lower()] for field in row.fields}


STATE = "state"
"""The variable that has the state of a key, and its column with the bytes."""
EXPIRES = "expiresAtMicros"
"""The column with the event time at which a state ends; named as that of Spark's dedupe."""
_MICROS, _TIMES = "_micros", "_times"


class OutputRow(dict[str, Any]):
    """A row for Spark; creating a `Row` would take longer than everything else."""

    def asDict(self, recursive: bool = False) -> dict[str, Any]:  # noqa: N802, ARG002 - as Row
        return self


class KeyedProcessor(StatefulProcessor):
    """Calls a function with the rows of a key in a batch, and stores its state.

    State is JSON of plain values, since Spark does not preserve structs exactly, timestamps least of all.
    A field that was added to the class later has its default in older state.
    """

    times: tuple[int, str] | None = None
    """The place of the time of a row's record, and the column for the newest of those that were read."""

    def __init__(
        self,
        source: SourceFile,
        name: str,
        indexes: Mapping[str, int],
        yielded: Mapping[str, str],
        arrow: Any,
        ttl: int | None = None,
        log: LogAddress | None = None,
        keys: tuple[str, ...] = (),
    ) -> None:
        self.source = source
        self.name = name
        self.indexes = indexes
        """The index of the column of each field of a row."""
        self.yielded = yielded
        """The column of each field that the function yields."""
        self.arrow = arrow
        """The type of what it yields, as a struct."""
        self.ttl = ttl
        """Milliseconds after which Spark drops a state that was not written again."""
        self.log = log
        """Where what it logs is sent, with the key's columns."""
        self.keys = keys

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState(STATE, f"{STATE} binary", self.ttl)
        self.converted_function: ConvertedFunction | None = None

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803, ARG002
    ) -> Iterator[Any]:
        with forwards(self.name, self.log, [dict(zip(self.keys, key, strict=True))] if key else None):
            yield from self._yielded(key, rows)

    def _yielded(self, key: Any, rows: Iterator[Row]) -> Iterator[Any]:
        stored = self.state.get()
        before = bytes(stored[0]) if stored else None
        after = yield from self._call(key, rows, before)
        if after != before or self.ttl is not None:
            self.state.update((after,))

    def _call(self, key: Any, rows: Iterator[Row], before: bytes | None) -> Generator[Any, None, bytes]:
        """Yield what the function yields for rows of a key; return the state after them."""
        if self.converted_function is None:
            self.converted_function = converted_function(self.source, self.name, self.indexes, self.arrow)
        function, of_key, row_of, state_of, fit = self.converted_function
        newest = NewestRowTime(self.times[0]) if self.times else None
        converted_rows = (row_of(row) for row in (rows if newest is None else newest.of(rows)))
        try:
            state = state_of(state_in(before) if before else {})
            for yielded in function(of_key(key[0]) if key else None, converted_rows, state):
                fit(yielded)
                result = self._row(to_arrow(yielded))
                if newest is not None and self.times is not None:
                    result[self.times[1]] = newest.time
                yield result
            return state_bytes(to_arrow(state))
        except GeneratorExit:
            raise
        except WrongReturnError as error:
            raise RuntimeError(f"{FAILED}{self.name}(): {error.message('yielded')}") from None
        except BaseException as error:  # noqa: BLE001 - whatever the user's function raises, also SystemExit
            raise RuntimeError(FAILED + describe_failure(self.name, error)) from None

    def _row(self, value: Any) -> OutputRow:
        if not isinstance(value, dict):
            return OutputRow(dict.fromkeys(self.yielded.values(), value))
        return OutputRow((column, value.get(name)) for name, column in self.yielded.items())

    def close(self) -> None:
        pass


class KeyedByEventTime(KeyedProcessor):
    """Ends the state of a key by event time: a row that comes later than its end finds an empty state.

    That depends on the rows and their order alone, not on batches. Spark drops rows that are older than the
    watermark, so once it has passed the end of a state, no row can find it, and a timer removes it. Rows
    without a time find an empty state, and leave none. The last column of a row is its event time.
    """

    streaming = True
    """Whether there is a watermark, and so timers."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState(STATE, f"{STATE} binary, {EXPIRES} bigint")
        self.converted_function: ConvertedFunction | None = None

    def _yielded(self, key: Any, rows: Iterator[Row]) -> Iterator[Any]:
        assert self.ttl is not None
        stored = self.state.get()
        before, expires = (bytes(stored[0]), stored[1]) if stored else (None, None)
        lives, current, after = StateExpiry(expires, self.ttl * 1000), 0, before
        for life, rows_of_life in groupby(rows, lives):
            if life < 0:
                yield from self._call(key, rows_of_life, None)
                continue
            if life != current:
                self.state.clear()  # Spark counts it as expired
                current, after = life, None
            after = yield from self._call(key, rows_of_life, after)
        if after is not None and (after, lives.expires) != (before, expires):
            self.state.update((after, lives.expires))
            if stored is None:
                self._set_timer(lives.expires)

    def _set_timer(self, expires: int | None) -> None:
        """Set the only timer of a key; if its state has been prolonged by then, it is set again."""
        assert expires is not None
        if self.streaming:
            self.handle.registerTimer(_milliseconds_after(expires))

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803, ARG002
    ) -> Iterator[Any]:
        stored = self.state.get()
        if stored is not None:
            if _milliseconds_after(stored[1]) <= timerValues.getCurrentWatermarkInMs():
                self.state.clear()
            else:
                self._set_timer(stored[1])
        return iter(())


class NewestRowTime:
    """The newest time, in microseconds, of the rows that were read so far; None before the first one."""

    def __init__(self, index: int) -> None:
        self.time: int | None = None
        self._index = index

    def of(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            time = row[self._index]
            if time is not None and (self.time is None or time > self.time):
                self.time = time
            yield row


def _milliseconds_after(micros: int) -> int:
    return -(-micros // 1000)


class StateExpiry:
    """Numbers the lives of the state of a key by its rows: each ends a `ttl` after its last event time.

    Rows without a time have numbers below zero.
    """

    def __init__(self, expires: int | None, ttl: int) -> None:
        self.expires = expires
        """When the current one ends, in microseconds; None before the first row."""
        self._ttl = ttl
        self._number = 0
        self._untimed = 0

    def __call__(self, row: Sequence[Any]) -> int:
        time = row[-1]
        if time is None:
            self._untimed -= 1
            return self._untimed
        if self.expires is not None and time > self.expires:
            self._number += 1
        self.expires = max(time + self._ttl, self.expires or time)
        return self._number


class ConvertedFunction(NamedTuple):
    """A function, with the conversions of its arguments from Spark's values."""

    call: Callable[..., Iterable[Any]]
    key: Callable[[Any], Any]
    row: Callable[[Any], Any]
    state: Callable[[dict[str, Any]], Any]
    fit: Fit
    """Raises an error for a row that is not what the hint says."""


def converted_function(
    source: SourceFile, name: str, indexes: Mapping[str, int], arrow: Any
) -> ConvertedFunction:
    function = getattr(module_of(source), name)
    hints = typing.get_type_hints(function, include_extras=True)
    row = struct_of(typing.get_args(hints["rows"])[0])
    fields = typing.get_type_hints(row)
    parts = [(field, index, arrow_converter(fields[field])) for field, index in indexes.items()]
    state = struct_of(hints["state"])

    def row_of(values: Any) -> Any:
        return row(**{n: convert(values[i]) if convert else values[i] for n, i, convert in parts})

    fit = fit_of_rows(arrow, typing.get_args(hints["return"])[0])
    return ConvertedFunction(
        function,
        arrow_converter(hints["key"]) or keep_value,
        row_of,
        arrow_converter(state) or keep_value,
        fit,
    )


def keep_value(value: Any) -> Any:
    return value
