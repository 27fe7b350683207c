"""Python functions that keep state by key: `transformWithState`, which needs RocksDB and protobuf.

Of Spark's two ways, `applyInPandasWithState` takes ten times as long a key (3 ms; a data frame for each),
makes floats of integers with NULLs, and what reads its rows may fail (a ClassCastException in 4.2.0).
"""

from __future__ import annotations

import pickle
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from millstream.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.expressions import quoted
from millstream.physical.durations import milliseconds
from millstream.physical.emit.steps import StatefulView
from millstream.physical.values import OutputMode
from millstream.project.values import Function, Project
from millstream.runner import worker
from millstream.runner.functions import source_of
from millstream.runner.worker import FAILED, Source, converter, failure, module_of, plain
from millstream.types import Row as Struct

# A cluster's workers need not have Millstream: what they run is sent to them.
cloudpickle.register_pickle_by_value(worker)  # type: ignore[no-untyped-call]

_STORE = "spark.sql.streaming.stateStore.providerClass"
_NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def rows_made(session: SparkSession, project: Project, step: StatefulView, mode: OutputMode) -> DataFrame:
    """Return what a function yields for the rows of each key.

    The rows of a key come in no order: not in that of event time, nor surely in that of their topic.
    """
    # Whatever store the other states of a target have, this is the only one that Spark takes here.
    session.conf.set(_STORE, _ROCKSDB)
    if step.ttl:
        # With a time to live, Spark always wants one more batch, with rows or without (SPARK-50180).
        session.conf.set(_NO_DATA, "false")
    # A batch query has state, too, but only a StreamingQueryManager starts who coordinates the stores.
    _ = session.streams
    function = project.functions[step.function]
    given = session.table(step.of)
    fields = _fields(function, given.columns)
    columns = dict.fromkeys((*step.keys, *fields.values()))
    made = _made(function)
    keyed = Keyed(
        source_of(project, function),
        function.name,
        {name: [*columns].index(column) for name, column in fields.items()},
        dict(zip(made, (column.name for column in step.made), strict=True)),
        milliseconds(step.ttl) if step.ttl else None,
    )
    schema = ", ".join(f"{quoted(column.name)} {column.type}" for column in step.made)
    rows = given.select(*map(quoted, columns)).groupBy(*map(quoted, step.keys))
    return rows.transformWithState(keyed, schema, mode, "processingTime" if step.ttl else "none")


def _fields(function: Function, columns: Iterable[str]) -> dict[str, str]:
    """Return the column of each field of a row."""
    there = {column.lower(): column for column in columns}
    row = function.parameters[1].type
    assert isinstance(row, Struct)
    missing = [field.name for field in row.fields if field.name.lower() not in there]
    if missing:
        message = (
            f"{function.name}() takes rows with '{missing[0]}', which is no column of what it is called on"
        )
        remedy = did_you_mean(missing[0], there.values(), f"columns: {', '.join(there.values())}")
        raise MillstreamError(Diagnostic("MS877", message, function.location, remedy))
    return {field.name: there[field.name.lower()] for field in row.fields}


def _made(function: Function) -> list[str]:
    assert isinstance(function.returns, Struct)
    return [field.name for field in function.returns.fields]


class Made(dict[str, Any]):
    """A row as Spark asks for it; making one of its own would take longer than all the rest."""

    def asDict(self, recursive: bool = False) -> dict[str, Any]:  # noqa: N802, ARG002 - as Row
        return self


class Keyed(StatefulProcessor):
    """Calls a function with the rows of a key in a batch, and keeps its state.

    State is kept as a pickle of plain values: what Spark makes of a struct is not what was put into it, a
    timestamp least of all. A field that the class got later has its default in what was kept before.
    """

    def __init__(
        self,
        source: Source,
        name: str,
        places: Mapping[str, int],
        made: Mapping[str, str],
        ttl: int | None = None,
    ) -> None:
        self.source = source
        self.name = name
        self.places = places
        """By field of a row: which column it is."""
        self.made = made
        """By field that the function yields: the column that it becomes."""
        self.ttl = ttl
        """Milliseconds after which Spark forgets a state that was not written again."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.kept = handle.getValueState("state", "state binary", self.ttl)
        self.known: Known | None = None

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803, ARG002
    ) -> Iterator[Any]:
        if self.known is None:
            self.known = known(self.source, self.name, self.places)
        function, of_key, row_of, state_of = self.known
        found = self.kept.get()
        before = bytes(found[0]) if found else None
        given = (row_of(row) for row in rows)
        try:
            state = state_of(pickle.loads(before) if before else {})  # noqa: S301 - written below
            for made in function(of_key(key[0]) if key else None, given, state):
                yield self._row(plain(made))
            after = pickle.dumps(plain(state), 4)
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises
            raise RuntimeError(FAILED + failure(self.name, error)) from None
        if after != before or self.ttl is not None:
            self.kept.update((after,))

    def _row(self, value: Any) -> Made:
        if not isinstance(value, dict):
            return Made(dict.fromkeys(self.made.values(), value))
        return Made((column, value.get(name)) for name, column in self.made.items())

    def close(self) -> None:
        pass


class Known(NamedTuple):
    """A function with what makes its arguments of what Spark gives."""

    call: Callable[..., Iterable[Any]]
    key: Callable[[Any], Any]
    row: Callable[[Any], Any]
    state: Callable[[dict[str, Any]], Any]


def known(source: Source, name: str, places: Mapping[str, int]) -> Known:
    function = getattr(module_of(source), name)
    hints = typing.get_type_hints(function, include_extras=True)
    row = struct_of(typing.get_args(hints["rows"])[0])
    fields = typing.get_type_hints(row)
    parts = [(field, place, converter(fields[field])) for field, place in places.items()]
    state = struct_of(hints["state"])

    def row_of(given: Any) -> Any:
        return row(**{n: convert(given[i]) if convert else given[i] for n, i, convert in parts})

    return Known(function, converter(hints["key"]) or same, row_of, converter(state) or same)


def struct_of(hint: Any) -> Any:
    """Return the class within `Annotated[X, …]` or `X | None`."""
    while (origin := typing.get_origin(hint)) is not None:
        inner = typing.get_args(hint)
        if origin in {typing.Union, types.UnionType}:
            inner = tuple(each for each in inner if each is not type(None))
        hint = inner[0]
    return hint


def same(value: Any) -> Any:
    return value
