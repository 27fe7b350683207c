"""Reads the history of a topic with Spark: its rows become records, as if the topic still had them.

So everything else is as it is without a history: the records are decoded, checked and counted alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import Expression, Piece, Ref, quote_name, render_sql, sql_literal
from millstream.core.types import BINARY, Field
from millstream.formats.keys import KeyFormat
from millstream.formats.registry import format_of
from millstream.project.values import Project, Topic
from millstream.queries.values import TopicRead
from millstream.sources.positions import Range
from millstream.sources.registry import source_module
from millstream.sources.spark import SparkSource
from millstream.sources.topic.history import OFFSET, PARTITION, TIME, HistoryEnd, rows_of_history
from millstream.sources.topic.positions import Offsets

_UNPLACED = "-1 as partition", "monotonically_increasing_id() as offset"
"""Where a record was of which the history only has the time: a place that no other record has."""
_HEADERS = "cast(null as array<struct<key: string, value: binary>>) as headers"


def newest_position(project: Project, topic: Topic) -> Any:
    """Return where the history of a topic ends now, as it is stored."""
    source = rows_of_history(topic, ())
    return source_module(source.kind, "positions").ends(source, project).stored()


def offsets_after(session: SparkSession, project: Project, topic: Topic, end: Any) -> Offsets:
    """Return the offset after the last record of each partition in the history up to an end."""
    rows = _rows(session, project, topic, (PARTITION, OFFSET), end)
    last = rows.groupBy(PARTITION.name).agg((f.max(OFFSET.name) + 1).alias("next"))
    return {row[0]: row[1] for row in last.collect()}


def records_of_history(
    session: SparkSession, project: Project, topic: Topic, read: TopicRead, end: HistoryEnd
) -> DataFrame:
    """Return the rows of the history up to an end as Spark's source for Kafka has records."""
    history = topic.history
    assert history is not None
    fields = _fields(topic, read)
    key = topic.key if topic.key is not None and (read.key or "_key" in read.metadata) else None
    of_key = [Field(key.name, key.type)] if key and key.name not in {field.name for field in fields} else []
    of_record = (TIME,) if history.until else (PARTITION, OFFSET, TIME)
    rows = _rows(session, project, topic, (*fields, *of_key, *of_record), end.position)
    if end.since is not None:
        rows = rows.where(f"{TIME.name} < timestamp_millis({end.since})")
    items = [(field.name, _column(field)) for field in fields]
    value = _bytes(format_of(topic.format).spark.encode(items))
    placed = _UNPLACED if history.until else (f"{PARTITION.name} as partition", f"{OFFSET.name} as offset")
    return rows.selectExpr(
        f"{'cast(null as binary)' if key is None else _key(Field(key.name, key.type), topic)} as key",
        f"{value} as value",
        f"{sql_literal(topic.topics[0])} as topic",
        *placed,
        f"{TIME.name} as timestamp",
        "0 as timestampType",
        *([_HEADERS] if read.headers else []),
    )


def _fields(topic: Topic, read: TopicRead) -> list[Field]:
    """Return the fields of values that are written: those that are read, or all if a schema needs all."""
    format_ = format_of(topic.format)
    columns = [Field(column.name, column.type, column.nullable) for column in read.columns]
    if (format_.schemas is None or not format_.schemas.required) and not format_.single:
        return columns
    declared = [c for c in topic.columns if c.expression is None and c.type is not None]
    return [Field(column.name, column.type, column.nullable) for column in declared if column.type]


def _rows(
    session: SparkSession, project: Project, topic: Topic, fields: Sequence[Field], end: Any
) -> DataFrame:
    source = rows_of_history(topic, fields)
    positions = source_module(source.kind, "positions")
    position = positions.from_stored(end)
    if not positions.ends(source, project).covers(position):
        message = f"the history of the topic '{topic.topics[0]}' has lost what it had when the query began"
        remedy = (
            "restore it, or remove rows and state and start over with the history as it is: "
            "`millstream build --full-refresh`"
        )
        raise MillstreamError(Diagnostic("MS646", message, source.location, remedy))
    connected: SparkSource = source_module(source.kind, "spark").connect(session, source, project)
    return connected.between(Range(None, position))


def _column(field: Field) -> Expression:
    return Expression((Ref(field.name),), field.type, nullable=field.nullable)


def _key(field: Field, topic: Topic) -> str:
    assert topic.key is not None
    encoded = KeyFormat(topic.key.format, field.type).encoded([(field.name, _column(field))])
    return f"if({quote_name(field.name)} is null, null, {_bytes(encoded)})"


def _bytes(pieces: Sequence[Piece]) -> str:
    """Return SQL of bytes over the columns of rows."""
    encoded = Expression(("cast(", *pieces, " as binary)"), BINARY)
    return render_sql(encoded, lambda ref: quote_name(ref.column))
