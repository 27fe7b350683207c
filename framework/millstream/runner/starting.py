"""One query of the plan becomes a streaming query of Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millstream.errors import Diagnostic
from millstream.expressions import quoted
from millstream.physical.durations import milliseconds
from millstream.physical.emit.draft import barrier
from millstream.physical.emit.fuse import unused
from millstream.physical.emit.steps import CountedView, DedupeView, SqlView, StatefulView, Step, WindowView
from millstream.physical.values import (
    OutputMode,
    PerBatch,
    Query,
    SourceRead,
    StaticRead,
    ToKafka,
)
from millstream.project.values import Project
from millstream.runner import counting, functions, keyed, reading
from millstream.runner.deliveries import Stores, deliver, in_turn, send
from millstream.runner.reading import Ranges
from millstream.runner.tables import Tables

_DELAY = "spark.watermarkDelayMs"
"""What Spark notes of a column of event time."""
_WINDOW = "spark.timeWindow"
"""What it notes of a window (TimeWindow.marker)."""


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
    backfilled: tuple[str, ...] = ()
    """Models that got what the query had read before, on their own."""
    left_out: Mapping[str, Diagnostic] = {}
    """Models that should have, and failed."""
    without_sent: Callable[[DataFrame], DataFrame] | None = None
    """Leaves out dead letters that were sent before."""


def start(
    spark: SparkSession,
    query: Query,
    around: Around,
    listener: StreamingQueryListener | None = None,
    **trigger: str | bool,
) -> StreamingQuery:
    """Start a query in a session of its own, whose views nobody else sees; `listener` hears of it alone."""
    session = _session(spark, query, around, _streamed(around, trigger, timed=listener is not None))
    if listener is not None:
        session.streams.addListener(listener)
    rows = counting.counted(_records(session, query, around), query)
    writer = rows.writeStream.queryName(query.name).outputMode(query.output_mode)
    writer = writer.option("checkpointLocation", around.checkpoint).trigger(**trigger)  # type: ignore[arg-type]
    return _to(writer, query, around.stores).start()


def run_once(spark: SparkSession, query: Query, around: Around, ranges: Mapping[str, Ranges]) -> None:
    """Run a query without state as one batch: over some records of each topic, and all rows of tables."""
    session = _session(spark, query, around, _bounded(around, ranges))
    rows = counting.counted(_records(session, query, around), query)
    how, stores = query.deliver, around.stores
    if isinstance(how, PerBatch):
        deliver(how, stores)(rows, 0)
    elif how.by_number:
        send(rows, stores, 0)
    else:
        _send(rows, stores)


def try_out(spark: SparkSession, query: Query, around: Around, ranges: Mapping[str, Ranges]) -> None:
    """Make the rows of a query without state over some records, for nobody: it fails where they do."""
    session = _session(spark, query, around, _bounded(around, ranges))
    rows = session.sql(query.sql)
    made = [rows]
    if isinstance(query.deliver, PerBatch):
        rows.createOrReplaceTempView(query.deliver.view)
        made = [session.sql(each.sql) for each in query.deliver.deliveries]
    for each in made:
        each.write.format("noop").mode("overwrite").save()


def _records(session: SparkSession, query: Query, around: Around) -> DataFrame:
    found = session.sql(query.sql)
    return found if around.without_sent is None else around.without_sent(found)


Read = Callable[[SparkSession, SourceRead], None]


def _bounded(around: Around, ranges: Mapping[str, Ranges]) -> Read:
    def read(session: SparkSession, source: SourceRead) -> None:
        if source.topic:
            reading.bounded(session, source, around.sources[source.relation], ranges[source.topic])
        else:
            around.tables.whole(session, source)

    return read


def _session(spark: SparkSession, query: Query, around: Around, read: Read) -> SparkSession:
    """Return a session that has all views and functions of a query."""
    session = spark.newSession()
    for name, value in around.settings.items():
        session.conf.set(name, value)
    functions.register(session, around.project, query.functions, query.within)
    for source in query.sources:
        read(session, source)
    for each in query.reads:
        _at_rest(session, each, around)
    for step in query.steps:
        make_view(session, step, around.project, query.output_mode)
    return session


def _streamed(around: Around, trigger: Mapping[str, object], *, timed: bool) -> Read:
    def read(session: SparkSession, source: SourceRead) -> None:
        if source.topic:
            reading.records(session, source, around.sources[source.relation], trigger, timed=timed)
        else:
            around.tables.stream(session, source)

    return read


def _at_rest(session: SparkSession, read: StaticRead, around: Around) -> None:
    kind, _, name = read.relation.partition(".")
    if kind == "seed":
        reading.seed(session, read.view, around.project, around.project.seeds[name])
    else:
        around.tables.view(session, read)


def make_view(session: SparkSession, step: Step, project: Project, mode: OutputMode) -> None:
    match step:
        case SqlView():
            made = session.sql(step.sql)
        case DedupeView():
            made = _distinct(session.table(step.of), step)
        case WindowView():
            made = timed_by_window(session.table(step.of), step)
        case CountedView():
            made = counting.without_bad(session.table(step.of), step)
        case StatefulView():
            made = keyed.rows_made(session, project, step, mode)
    made.createOrReplaceTempView(step.name)


def _distinct(rows: DataFrame, step: DedupeView) -> DataFrame:
    """Keep the first row of each key.

    Spark forgets a key when the watermark is past its time and the delay that its column of event time tells:
    that is how late rows may come, and `within` is something else.
    """
    if step.within is None:
        return rows.dropDuplicates(list(step.keys))
    told = {_DELAY: milliseconds(step.within)}
    times = [field.name for field in rows.schema if _DELAY in field.metadata]
    named = {name: f.col(quoted(name)).alias(name, metadata=told) for name in times}
    return rows.withColumns(named).dropDuplicatesWithinWatermark(list(step.keys))


def timed_by_window(rows: DataFrame, step: WindowView) -> DataFrame:
    """Let a watermark follow the last instants of windows, and mark these as Spark marks its own.

    So GROUP BY closes them, `window(window, …)` and `window_time(window)` take them (ResolveWindowTime).
    """
    delay = milliseconds(step.delay)
    last = unused("last_instant", rows.columns)
    ends = f.expr(f"{quoted(step.window)}.end - interval 1 microsecond")
    timed = (
        rows.withColumn(last, ends)
        .withWatermark(last, f"{delay} milliseconds")
        .where(barrier(step.copy).text)
    )
    marks = {_DELAY: delay, _WINDOW: True}
    return timed.select(
        *(
            f.col(quoted(name)).alias(name, metadata=marks)
            if name.lower() == step.window.lower()
            else f.col(quoted(name))
            for name in rows.columns
        )
    )


def _to(writer: DataStreamWriter, query: Query, stores: Stores) -> DataStreamWriter:
    match query.deliver:
        case PerBatch() as how:
            return writer.foreachBatch(in_turn(deliver(how, stores), stores))
        case ToKafka() as how if how.by_number:
            return writer.foreachBatch(in_turn(lambda rows, number: send(rows, stores, number), stores))
        case ToKafka() if stores.turn is not None:
            return writer.foreachBatch(in_turn(lambda rows, _: _send(rows, stores), stores))
        case ToKafka():
            return writer.format("kafka").options(**stores.kafka)


def _send(records: DataFrame, stores: Stores) -> None:
    """Write records that say themselves which batch, or record, they are of."""
    records.write.format("kafka").options(**stores.kafka).save()
