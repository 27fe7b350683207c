"""Starts a query of the plan as a streaming query of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from millstream.core.errors import Diagnostic
from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.engine.python import functions, keyed
from millstream.engine.python.forwarding import LogAddress
from millstream.engine.queries import counts as counting
from millstream.engine.queries import maintained
from millstream.engine.queries.callbacks import called_by
from millstream.engine.queries.deduplicated import WATERMARK_DELAY, drop_duplicates, exactly_deduplicated
from millstream.engine.queries.deliveries import (
    BatchWriter,
    batch_function,
    in_turn,
    store_batch,
    with_batch,
    write_records,
)
from millstream.engine.queries.histories import HistoryReads
from millstream.engine.queries.maintained import TableDifferences
from millstream.engine.queries.record_maker import RecordMaker
from millstream.engine.queries.repeated_records import first_sent
from millstream.engine.queries.row_tests import CHANGES, CountsByBatch
from millstream.engine.queries.seeds import view_seed
from millstream.engine.queries.shared_reads import SharedRead
from millstream.engine.queries.small_batches import BatchInterpretation
from millstream.engine.queries.snapshots import AtVersions, Upkeep
from millstream.engine.queries.table_changes import follow_table
from millstream.engine.queries.tables import Tables
from millstream.engine.queries.temporal import joined_as_of
from millstream.plan.durations import duration_millis
from millstream.project.values import Project
from millstream.queries.emit.draft import barrier_condition
from millstream.queries.emit.fuse import unused_name
from millstream.queries.emit.steps import (
    CountedView,
    DedupeView,
    SqlView,
    StatefulView,
    Step,
    TemporalView,
    WindowView,
)
from millstream.queries.tombstones import with_every_tombstone, without_copies
from millstream.queries.values import (
    ChangesRead,
    OutputMode,
    PerBatch,
    Query,
    SourceRead,
    StaticRead,
    StreamRead,
    TableMaintenance,
    ToKafka,
    TopicRead,
)
from millstream.sources.positions import Position, Range
from millstream.sources.spark import bad_lines_of, spark_source
from millstream.sources.topic import spark as topic_reads
from millstream.sources.topic.positions import offset_ranges
from millstream.stores.session_settings import takes_fast_paths
from millstream.stores.spark import MAINTAINED, TableVersion

_WINDOW = "spark.timeWindow"
"""Spark's metadata of a window column (TimeWindow.marker)."""


class QueryContext(Struct, frozen=True):
    """What a query needs to run, besides its SQL."""

    project: Project
    checkpoint: str
    stores: BatchWriter
    sources: Mapping[NodeId, Mapping[str, str]]
    """Options of Spark's Kafka source, by relation."""
    tables: Tables
    settings: Mapping[str, str] = {}
    """Settings of the query's session only."""
    backfilled: Mapping[NodeId, dict[NodeId, int]] = {}
    """How many records of each source or model each model read again, before the query starts."""
    histories: HistoryReads = HistoryReads()
    """Where the records are that its topics had before."""
    left_out: Mapping[NodeId, Diagnostic] = {}
    """Models whose backfill failed."""
    without_sent: Callable[[DataFrame], DataFrame] | None = None
    """Removes dead letters that were sent before."""
    log: LogAddress | None = None
    """Where what Python functions log is sent, with the models of the query."""
    at_versions: AtVersions = lambda _: {}
    """Brings what a table over tables reads up to date, where that has to be of one moment."""
    shared: SharedRead | None = None
    """The read of a topic that it shares with another query of a build."""
    every_tombstone: bool = False
    """Rows that do not match are sent as tombstones, even if they never matched."""
    sent_before: Mapping[str, Position] = {}
    """Where the rows begin that another version has not sent, of sources other than topics."""
    without_copies: tuple[str, ...] = ()
    """Columns of the query for which its state has no copies of aggregates."""
    unread: int | None = None
    """How many records of its topics the query has not read yet; None if that is unknown."""
    keep: Callable[[Upkeep], None] = lambda _: None
    """Receives the updater of a table over tables, once its query runs."""


def start_query(
    spark: SparkSession,
    query: Query,
    context: QueryContext,
    listener: StreamingQueryListener | None = None,
    **trigger: str | bool,
) -> StreamingQuery:
    """Start a query in its own session, so that its views are private and `listener` only sees this query."""
    query = without_copies(query, context.without_copies)
    query = with_every_tombstone(query) if context.every_tombstone else query
    host, guest = _shares(query, context)
    read = _streamed(query, context, trigger, host, timed=listener is not None)
    session = _session(spark, query, context, read)
    if listener is not None:
        session.streams.addListener(listener)
    if query.follows_table:
        rows = counting.with_changes(context.tables.feed(session, query.table_reads[0]), query)
    else:
        rows = counting.with_counts(_records(session, query, context), query)
    realtime = "realTime" in trigger
    maker = None if realtime else RecordMaker.of(rows, query, context.stores, guest)
    if maker is not None:
        rows = maker.rows
    elif guest is not None:
        guest.part()
    if query.maintaining is not None:
        # After an edit, or over empty inputs, there is something to compute before the first change.
        work = in_turn(incremental_table(query, context).each_batch, context.stores)
        work(session.range(0), -1)
        context.keep(incremental_table(query, context).upkeep(session))
    if realtime:
        rows = with_batch(rows, context.stores, None)
    writer = rows.writeStream.queryName(query.name).outputMode(query.output_mode)
    writer = writer.option("checkpointLocation", context.checkpoint).trigger(**trigger)  # type: ignore[arg-type]
    if realtime and isinstance(query.deliver, ToKafka):
        return writer.format("kafka").options(**context.stores.kafka).start()
    interpretation = BatchInterpretation()
    if context.unread is not None:
        interpretation.follow(session, context.unread)
    each_batch = _each_batch(query, context) if maker is None else maker.send
    work = in_turn(each_batch, context.stores, interpretation)
    if host is not None:
        work = host.hosting(work)
    streaming = writer.foreachBatch(work).start()
    called_by(streaming, work)
    return streaming


def _shares(query: Query, context: QueryContext) -> tuple[SharedRead | None, SharedRead | None]:
    """Return the read that a query shares as a host, and as a guest."""
    if context.shared is None or context.shared.host == query.name:
        return context.shared, None
    return None, context.shared


def run_once(spark: SparkSession, query: Query, context: QueryContext, ranges: Mapping[str, Range]) -> None:
    """Run a stateless query as one batch, over ranges of each topic and all rows of tables."""
    session = _session(spark, query, context, _bounded(context, ranges))
    rows = counting.with_counts(_records(session, query, context), query)
    how, writer = query.deliver, context.stores
    if isinstance(how, PerBatch):
        batch_function(how, writer)(rows, 0)
    else:
        write_records(rows, writer, 0)


def try_out(spark: SparkSession, query: Query, context: QueryContext, ranges: Mapping[str, Range]) -> None:
    """Compute and discard the rows of a stateless query over ranges of its topics, to see if it fails."""
    session = _session(spark, query, context, _bounded(context, ranges))
    rows = session.sql(query.sql)
    frames = [rows]
    if isinstance(query.deliver, PerBatch):
        rows.createOrReplaceTempView(query.deliver.view)
        frames = [session.sql(delivery.sql) for delivery in query.deliver.deliveries]
    for frame in frames:
        frame.write.format("noop").mode("overwrite").save()


class IncrementalTable(Struct, frozen=True, eq=False):
    """Keeps a table over tables equal to its SQL."""

    query: Query
    plan: TableMaintenance
    how: PerBatch
    context: QueryContext

    def each_batch(self, batch: DataFrame, number: int) -> None:
        """Store the differences between the table and its SQL, if something changed."""
        session = batch.sparkSession
        self.bring(session, number, self.context.at_versions(session))

    def upkeep(self, session: SparkSession) -> Upkeep:
        """Return what brings the table up to date outside of its batches."""
        # What is counted is reported with the next batch.
        numbers = count(-2, -1)
        return lambda versions: self.bring(session, next(numbers), versions)

    def bring(self, session: SparkSession, number: int, versions: Mapping[NodeId, TableVersion]) -> None:
        """Bring the table up to date with its inputs, of which some are given at a version."""
        # The numbers of its transactions are not those of Spark's batches.
        counted = CountsByBatch()
        writer = replace(
            self.context.stores,
            identity=MAINTAINED,
            again=None,
            records=lambda _: None,
            positions=lambda _: "",
            distinct=True,
            counted=counted,
        )

        def stored(rows: DataFrame, transaction: int, differences: TableDifferences) -> None:
            if differences.few:
                store_batch(rows, self.how, writer, transaction, small=True)
            else:
                batch_function(self.how, writer)(rows, transaction)

        rows_of = partial(_rows_of, self.query, self.context)
        done = maintained.maintain_table(self.plan, self.context.tables, session, rows_of, stored, versions)
        self.context.stores.counted.add(
            number, {**counted.merged(), f"{CHANGES} {self.plan.target.model}": done}
        )


def incremental_table(query: Query, context: QueryContext) -> IncrementalTable:
    assert query.maintaining is not None
    assert isinstance(query.deliver, PerBatch)
    return IncrementalTable(query, query.maintaining, query.deliver, context)


def _rows_of(query: Query, context: QueryContext, session: SparkSession) -> DataFrame:
    """Return a query's rows over the views of a batch."""
    _make_views(session, query, context)
    return session.sql(query.sql)


def _records(session: SparkSession, query: Query, context: QueryContext) -> DataFrame:
    rows = session.sql(query.sql)
    return rows if context.without_sent is None else context.without_sent(rows)


Read = Callable[[SparkSession, StreamRead], None]


def _bounded(context: QueryContext, ranges: Mapping[str, Range]) -> Read:
    def read(session: SparkSession, source: StreamRead) -> None:
        match source:
            case TopicRead():
                parts = {topic: offset_ranges(ranges[topic]) for topic in source.topics}
                history = context.histories.of(context.project, source)
                topic_reads.read_ranges(session, source, context.sources[source.relation], parts, history)
            case SourceRead():
                rows = spark_source(session, context.project, source.relation).between(ranges[source.stream])
                rows.createOrReplaceTempView(source.view)
            case ChangesRead():
                context.tables.view_as_changes(session, source)

    return read


def _session(spark: SparkSession, query: Query, context: QueryContext, read: Read) -> SparkSession:
    """Return a session with all views and functions of a query."""
    session = spark.newSession()
    for name, value in context.settings.items():
        session.conf.set(name, value)
    functions.register_functions(
        session, context.project, query.functions, query.nested_calls, query.encoders, context.log
    )
    functions.register_decoders(session, context.project, query.decoders, context.log)
    if query.maintaining is not None:
        maintained.record_changes(session, query.maintaining, context.tables)
    for source in query.sources:
        read(session, source)
    for static_read in query.reads:
        kind, name = static_read.relation.kind, static_read.relation.name
        if kind == "seed":
            view_seed(session, static_read.view, context.project, context.project.seeds[name])
        else:
            context.tables.view(session, static_read)
    if query.maintaining is not None:
        changes = [source.view for source in query.sources]
        maintained.change_trigger(session, query.maintaining, changes).createOrReplaceTempView(
            query.maintaining.view
        )
    _make_views(session, query, context)
    return session


def _make_views(session: SparkSession, query: Query, context: QueryContext) -> None:
    for step in query.steps:
        make_view(session, step, context.project, query.output_mode, context.log)


def _streamed(
    query: Query,
    context: QueryContext,
    trigger: Mapping[str, object],
    host: SharedRead | None,
    *,
    timed: bool,
) -> Read:
    def read(session: SparkSession, source: StreamRead) -> None:
        match source:
            case TopicRead():
                shared = host if host is not None and host.topic == source.stream else None
                source_host = context.histories.of(context.project, source) or shared
                topic_reads.read_stream(
                    session, source, context.sources[source.relation], trigger, source_host, timed=timed
                )
            case SourceRead(bad=True):
                rows = bad_lines_of(session, context.project, source.relation)
                rows.createOrReplaceTempView(source.view)
            case SourceRead():
                connected = spark_source(session, context.project, source.relation)
                start = context.sent_before.get(source.stream)
                rows = connected.stream() if start is None else connected.after(start)
                rows.createOrReplaceTempView(source.view)
            case ChangesRead() if query.maintaining is not None:
                context.tables.trigger(session, source)
            case ChangesRead():
                context.tables.stream(session, source)

    return read


def make_view(
    session: SparkSession, step: Step, project: Project, mode: OutputMode, log: LogAddress | None = None
) -> None:
    match step:
        case SqlView():
            rows = session.sql(step.sql)
        case DedupeView(by_position=True):
            rows = first_sent(session, step, mode)
        case DedupeView() if step.exact_by:
            rows = exactly_deduplicated(session, step, mode)
        case DedupeView():
            rows = drop_duplicates(session.table(step.of), step)
        case WindowView():
            rows = timed_by_window(session.table(step.of), step)
        case CountedView():
            rows = counting.without_bad(session.table(step.of), step)
        case TemporalView():
            rows = joined_as_of(session, step, mode)
        case StatefulView():
            rows = keyed.yielded_rows(session, project, step, mode, log)
    rows.createOrReplaceTempView(step.name)


def timed_by_window(rows: DataFrame, step: WindowView) -> DataFrame:
    """Let a watermark follow the last instant of each window, with the metadata of Spark's own windows.

    So GROUP BY closes them; `window(window, …)` and `window_time(window)` accept them (ResolveWindowTime).
    """
    delay = duration_millis(step.delay)
    last = unused_name("last_instant", rows.columns)
    ends = f.expr(f"{quote_name(step.window)}.end - interval 1 microsecond")
    timed = (
        rows.withColumn(last, ends)
        .withWatermark(last, f"{delay} milliseconds")
        .where(barrier_condition(step.copy).text)
    )
    marks = {WATERMARK_DELAY: delay, _WINDOW: True}
    return timed.select(
        *(
            f.col(quote_name(name)).alias(name, metadata=marks)
            if name.lower() == step.window.lower()
            else f.col(quote_name(name))
            for name in rows.columns
        )
    )


def _each_batch(query: Query, context: QueryContext) -> Callable[[DataFrame, int], None]:
    """Return what a batch of a query does."""
    writer = context.stores
    match query.deliver:
        case PerBatch() if query.maintaining is not None:
            return incremental_table(query, context).each_batch
        case PerBatch() if query.follows_table:
            rows = partial(_rows_of, query, context)
            return follow_table(query, context.tables, writer, context.checkpoint, rows)
        case PerBatch() as how:
            return looking_up(batch_function(how, writer), context.tables, query.reads)
        case ToKafka():
            return lambda rows, number: write_records(rows, writer, number)


# Spark reads a Delta table in several jobs, for each statement of a batch, which cost more than a small
# batch.


class Lookups:
    """The views of one query's tables at rest."""

    def __init__(self, tables: Tables, reads: Iterable[StaticRead]) -> None:
        self._tables = tables
        self._reads = [read for read in reads if read.relation.kind != "seed"]
        self._copied: dict[str, TableVersion] = {}
        """The versions whose rows are in the driver, by view."""
        self._schemas: dict[str, StructType] = {}

    def refresh(self, session: SparkSession) -> None:
        """Let all views show the newest versions; those that Spark reads itself show them in each batch."""
        if not takes_fast_paths(session):
            return
        for read in self._reads:
            version = self._copied.get(read.view)
            copied = self._tables.copied(read.relation, version)
            if copied is None:
                if version is not None:
                    del self._copied[read.view]
                    self._tables.view(session, read)
            elif copied.version != version:
                if read.view not in self._schemas:
                    self._schemas[read.view] = session.table(read.view).schema
                schema = self._schemas[read.view]
                rows = session.createDataFrame(copied.rows.select(schema.names), schema=schema)
                rows.createOrReplaceTempView(read.view)
                self._copied[read.view] = copied.version


def looking_up(
    work: Callable[[DataFrame, int], None], tables: Tables, reads: Iterable[StaticRead]
) -> Callable[[DataFrame, int], None]:
    """Return a function that works on a batch with the newest versions of the tables that it looks up."""
    lookups = Lookups(tables, reads)

    def each_batch(batch: DataFrame, number: int) -> None:
        lookups.refresh(batch.sparkSession)
        work(batch, number)

    return each_batch
