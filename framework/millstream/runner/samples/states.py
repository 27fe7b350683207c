"""What stateful queries remember: rows of states, by Spark's reader of state stores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType, DataType, StructType, TimestampType

from millstream.core.expressions import quote_name
from millstream.engine.python.keyed import STATE
from millstream.engine.python.stored_states import state_in
from millstream.engine.queries.deduplicated import PASSED
from millstream.engine.queries.repeated_records import POSITIONS
from millstream.engine.queries.temporal import VERSIONS
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import running_spark
from millstream.local.jars import Progress
from millstream.plan.durations import duration_millis
from millstream.project.values import Target
from millstream.runner.samples.state_sizes import OperatorSize, StoredState, measure_states, states_of
from millstream.stores.files import Files
from millstream.stores.hadoop_files import files_of
from millstream.stores.tables.values import Answer

_QUALIFIED = re.compile(r"\b(?:source|model|seed)(?:\.\w+)+?\.(\w+)\b(?!\.)")
_BUFFERS: dict[str, tuple[tuple[str, str], ...]] = {
    "sum": (("sum", ""),),
    "count": (("count", ""),),
    "min": (("min", ""),),
    "max": (("max", ""),),
    "avg": (("sum", "sum"), ("count", "count")),
    "max_by": (("valueWithExtremumOrdering", ""), ("extremumOrdering", "by")),
    "min_by": (("valueWithExtremumOrdering", ""), ("extremumOrdering", "by")),
    "first": (("first", ""), ("valueSet", "is set")),
    "last": (("last", ""), ("valueSet", "is set")),
}
"""The columns that Spark keeps for an aggregate, and what each is of it."""
_IS_KEY = "millstream.key"
"""Marks a column of keys in its metadata."""
_OVERFLOW = "isEmpty"
"""What Spark keeps besides the sum of decimals."""


@contextmanager
def read_states(
    target: Target, checkpoints: str, log: Path, progress: Progress | None
) -> Iterator[StateReader]:
    """Start Spark to read states; a run of the target can continue."""
    jars = jars_for(target, (), progress)
    with running_spark("millstream state", target, jars, log) as spark:
        yield StateReader(spark, files_of(checkpoints, spark), checkpoints)


class StateReader(Struct, frozen=True, eq=False):
    """Reads states with Spark, whose readers see the last completed batch, also while a query runs."""

    spark: SparkSession
    files: Files
    checkpoints: str

    def sizes(self) -> list[OperatorSize]:
        return measure_states(self.files, self.checkpoints)

    def counted(self, size: OperatorSize) -> OperatorSize:
        """Read a state to count its keys, and to find the oldest of those with a time."""
        states = {(state.query, state.id): state for state in states_of(self.files, self.checkpoints)}
        rows = self._rows(states[size.query, size.id])
        columns = [f.count_distinct(*(rows[quote_name(name)] for name in _key_names(rows))).alias("keys")]
        if times := [time for name in rows.columns if (time := _time(rows, name)) is not None]:
            columns.append(f.min(f.least(*times, *times)).cast("string").alias("oldest"))
        (counts,) = rows.agg(*columns).collect()
        return replace(size, keys=counts["keys"], oldest=(counts["oldest"] or "") if times else "")

    def rows(self, model: str, key: Sequence[str], limit: int | None) -> list[tuple[OperatorSize, Answer]]:
        """Return the rows of each state of a model, or those of a key: its values as texts, in order."""
        answers = []
        states = {(state.query, state.id): state for state in states_of(self.files, self.checkpoints)}
        for size in self.sizes():
            if model not in size.models:
                continue
            rows = self._rows(states[size.query, size.id])
            for name, value in zip(_key_names(rows), key, strict=False):
                rows = rows.where(_as_text(rows, name) == value)
            table = (rows if limit is None else rows.limit(limit + 1)).toArrow()
            of_function = size.operator == "stateful"
            columns = [
                [state_in(value) if of_function and name == STATE else value for value in column.to_pylist()]
                for name, column in zip(table.column_names, table.columns, strict=True)
            ]
            row_values: list[tuple[Any, ...]] = [*zip(*columns, strict=True)]
            more = limit is not None and len(row_values) > limit
            answers.append((size, Answer(tuple(table.column_names), row_values[:limit], more)))
        return answers

    def _rows(self, state: StoredState) -> DataFrame:
        """Return the rows of a state, with the user's names: the columns of keys first."""
        # Only a StreamingQueryManager starts the coordinator that Spark's readers of states ask.
        _ = self.spark.streams
        reader = self.spark.read.format("statestore").option("operatorId", state.id)
        match state.operator.kind:
            case "join":
                sides = (
                    _flat(reader.option("joinSide", side).load(state.folder), ()).select(
                        f.lit(side).alias("side"), "*"
                    )
                    for side in ("left", "right")
                )
                return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), sides)
            case "stateful":
                return _flat(reader.option("stateVarName", STATE).load(state.folder), ())
            case "first_sent":
                pages = reader.option("stateVarName", POSITIONS).load(state.folder).groupBy("key")
                return _flat(pages.agg(f.struct(f.count("*").alias("pages")).alias("value")), ())
            case "dedupe" if "exact" in dict(state.operator.facts):
                passed = reader.option("stateVarName", PASSED).load(state.folder)
                within = duration_millis(dict(state.operator.facts)["within"]) * 1000
                expires = f.timestamp_micros(f.col("value.last") + within)
                value = f.struct(_times().alias("passed"), expires.alias("expires")).alias("value")
                return _flat(passed.select("key", value), ())
            case "temporal_join":
                versions = reader.option("stateVarName", VERSIONS).load(state.folder)
                begins = f.timestamp_micros(f.col("user_map_key.value")).alias("valid_from")
                value = f.struct(begins, f.col("user_map_value.version").alias("version")).alias("value")
                return _flat(versions.select("key", value), ())
        return _flat(reader.load(state.folder), state.operator.stored_facts or state.operator.facts)


def _times() -> Column:
    """Return the times of the rows that passed, the newest one last."""
    earlier = f.coalesce("value.earlier", f.array().cast("array<bigint>"))
    return f.transform(f.concat(earlier, f.array("value.last")), f.timestamp_micros)


def _flat(rows: DataFrame, facts: Sequence[tuple[str, str]]) -> DataFrame:
    """Return the fields of keys and values as columns."""
    keys, values = _fields(rows, "key"), _fields(rows, "value")
    names = value_names(facts, values)
    marks = {"metadata": {_IS_KEY: True}}
    columns = [rows["key"].getField(name).alias(name, **marks) for name in keys]
    for field, name in zip(values, names, strict=True):
        is_key = name in keys
        columns.append(rows["value"].getField(field).alias(f"value {name}" if is_key else name))
    flat = rows.select(*columns)
    if "expiresAtMicros" in names:
        flat = flat.withColumn("expires", f.timestamp_micros("expiresAtMicros")).drop("expiresAtMicros")
    return flat


def _key_names(rows: DataFrame) -> list[str]:
    return [field.name for field in rows.schema if field.metadata.get(_IS_KEY)]


def _fields(rows: DataFrame, name: str) -> list[str]:
    kind = rows.schema[name].dataType
    assert isinstance(kind, StructType)
    return kind.fieldNames()


def value_names(facts: Sequence[tuple[str, str]], fields: Sequence[str]) -> list[str]:
    """Return names for the columns of an aggregate's state: the aggregates as written.

    Spark names them by what it keeps, such as `sum` and `count` for an average. If that is not what is known
    here, its names remain.
    """
    names: list[str] = []
    for name, content in facts:
        if not name.startswith("measure "):
            continue
        text = _QUALIFIED.sub(r"\1", _without_type(content))
        for expected, suffix in _BUFFERS.get(text.partition("(")[0].lower(), ()):
            if len(names) < len(fields) and fields[len(names)] == expected:
                names.append(f"{text} {suffix}".rstrip())
        if len(names) < len(fields) and fields[len(names)] == _OVERFLOW:
            names.append(f"{text} overflows")
    return names if len(names) == len(fields) and len({*names}) == len(names) else list(fields)


def _without_type(content: str) -> str:
    """Return an aggregate without the type that follows it in a signature."""
    depth = 0
    for index, character in enumerate(content):
        depth += (character == "(") - (character == ")")
        if character == ")" and not depth:
            return content[: index + 1]
    return content


def _time(rows: DataFrame, name: str) -> Column | None:
    """Return the time in a column, if it has one: a window's start, or when a key expires."""
    kind: DataType = rows.schema[name].dataType
    if name == "expires":
        return rows[name]
    if isinstance(kind, StructType) and kind.fieldNames() == ["start", "end"]:
        return rows[quote_name(name)].getField("start")
    return rows[quote_name(name)] if isinstance(kind, TimestampType) and name in _key_names(rows) else None


def _as_text(rows: DataFrame, name: str) -> Column:
    """Return a column of a key as users write it; a window is identified by its start."""
    time = _time(rows, name)
    if time is not None:
        return time.cast("string")
    column = rows[quote_name(name)]
    return column if isinstance(rows.schema[name].dataType, BinaryType) else column.cast("string")
