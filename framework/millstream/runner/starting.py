"""One query of the plan becomes a streaming query of Spark."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millstream.physical.emit.steps import DedupeView, SqlView, StatefulView, Step
from millstream.physical.values import (
    OutputMode,
    PerBatch,
    Query,
    SinkOutput,
    SourceRead,
    StaticRead,
    ToKafka,
)
from millstream.project.values import Project
from millstream.runner import functions, keyed, reading
from millstream.runner.deliveries import Stores, deliver, send
from millstream.runner.tables import Tables


class Around(Struct, frozen=True):
    """What a query needs of its surroundings."""

    project: Project
    checkpoint: str
    """Its folder."""
    stores: Stores
    sources: Mapping[str, Mapping[str, str]]
    """Options of the Kafka source by relation."""
    tables: Tables
    settings: Mapping[str, str] = {}
    """Of the query's session alone."""


def start(spark: SparkSession, query: Query, around: Around, **trigger: str | bool) -> StreamingQuery:
    """Start a query in a session of its own, whose views nobody else sees."""
    session = spark.newSession()
    for name, value in around.settings.items():
        session.conf.set(name, value)
    functions.register(session, around.project, query.functions, query.within)
    for source in query.sources:
        _stream(session, source, around)
    for read in query.reads:
        _at_rest(session, read, around)
    for step in query.steps:
        _view(session, step, around.project, query.output_mode)
    writer = session.sql(query.sql).writeStream.queryName(query.name).outputMode(query.output_mode)
    writer = writer.option("checkpointLocation", around.checkpoint).trigger(**trigger)  # type: ignore[arg-type]
    return _to(writer, query, around.stores).start()


def _stream(session: SparkSession, source: SourceRead, around: Around) -> None:
    if source.topic:
        reading.records(session, source, around.sources[source.relation])
    else:
        around.tables.stream(session, source)


def _at_rest(session: SparkSession, read: StaticRead, around: Around) -> None:
    kind, _, name = read.relation.partition(".")
    if kind == "seed":
        reading.seed(session, read.view, around.project, around.project.seeds[name])
    else:
        around.tables.view(session, read)


def _view(session: SparkSession, step: Step, project: Project, mode: OutputMode) -> None:
    match step:
        case SqlView():
            made = session.sql(step.sql)
        case DedupeView():
            rows = session.table(step.of)
            keys = list(step.keys)
            made = rows.dropDuplicatesWithinWatermark(keys) if step.within else rows.dropDuplicates(keys)
        case StatefulView():
            made = keyed.rows_made(session, project, step, mode)
    made.createOrReplaceTempView(step.name)


def _stamped(how: ToKafka) -> bool:
    """Tell whether records have a time of their own."""
    return any(isinstance(each, SinkOutput) and each.options.get("timestamp") for each in how.outputs)


def _to(writer: DataStreamWriter, query: Query, stores: Stores) -> DataStreamWriter:
    match query.deliver:
        case PerBatch() as how:
            return writer.foreachBatch(deliver(how, stores))
        case ToKafka() as how if not how.placed or _stamped(how):
            # No place in a topic tells a repeated record: the number of the batch does.
            def each_batch(records: DataFrame, number: int) -> None:
                send(records, stores, number)

            return writer.foreachBatch(each_batch)
        case ToKafka():
            return writer.format("kafka").options(**stores.kafka)
