"""Runs a query on given rows, without Kafka and without storing anything."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.engine.python import functions
from millstream.engine.queries import counts as counting
from millstream.engine.queries import maintained
from millstream.engine.queries.deletions import newest_requests, not_requested, requests_of
from millstream.engine.queries.differences import STORED
from millstream.engine.queries.failures import reporting_spark_errors
from millstream.engine.queries.newest_rows import latest_rows
from millstream.engine.queries.seeds import view_seed
from millstream.engine.queries.spark_progress import state_of
from millstream.engine.queries.start import make_view
from millstream.engine.queries.versions import version_differences
from millstream.engine.spark.given_batches import stream_batches
from millstream.engine.spark.streaming_check import empty_stream
from millstream.plan.nodes import Column
from millstream.plan.nodes.maintenance import view_of
from millstream.project.values import Project
from millstream.queries.values import PerBatch, Query, TableMaintenance, TableOutput

Row = Mapping[str, Any]
_BATCH = "_number_of_batch"

RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
"""The columns of a topic's records in Spark's Kafka source."""


class ViewFeed(Struct, frozen=True):
    """The rows of a source's view, micro-batch by micro-batch."""

    view: str
    columns: str
    """As DDL."""
    batches: tuple[tuple[Row, ...], ...]
    computed: tuple[str, ...] = ()
    """Columns that are computed from those of a row, as SQL."""


class LookupRows(Struct, frozen=True):
    """The rows of a table or a seed that is looked up."""

    view: str
    columns: str
    rows: tuple[Row, ...]
    computed: tuple[str, ...] = ()


class ReferenceTopic(Struct, frozen=True):
    """The records of a reference topic that is looked up, and the query that stores the newest of them."""

    view: str
    records: tuple[Row, ...]
    stored_by: Query


class OwnSeed(Struct, frozen=True):
    """A seed with the project's own rows."""

    view: str
    name: str


AtRest = LookupRows | ReferenceTopic | OwnSeed


class Trial(Struct, frozen=True):
    project: Project
    query: Query
    feeds: tuple[ViewFeed, ...]
    at_rest: tuple[AtRest, ...] = ()
    earlier: tuple[AtRest, ...] = ()
    """For a maintained table: the rows of `at_rest` before the batch."""
    settings: Mapping[str, str] = {}
    reached: tuple[int | None, ...] = ()
    """The minimum watermark after each micro-batch, in milliseconds."""
    later: Mapping[int, tuple[AtRest, ...]] = {}
    """What is at rest from a micro-batch on, instead of `at_rest`."""

    @property
    def parts(self) -> Iterator[tuple[range, tuple[AtRest, ...]]]:
        """The micro-batches with the same rows at rest."""
        count = max((len(feed.batches) for feed in self.feeds), default=0)
        starts = sorted({0, *self.later})
        for start, stop in zip(starts, [*starts[1:], count], strict=True):
            yield range(start, stop), self.later.get(start, self.at_rest)


class BatchOutput(Struct, frozen=True):
    """The rows of one output in one micro-batch."""

    batch: int
    output: str
    """The id of the model as text; empty for records, which have their topic."""
    kind: Literal["records", "rows"]
    rows: list[dict[str, Any]]


class TrialResult(Struct, frozen=True):
    outputs: tuple[BatchOutput, ...]
    late: int = 0
    """Rows that were dropped as late."""
    expired: int = 0
    """Rows of state that expired."""


Stored = dict[NodeId, dict[str, dict[str, Any]]]
"""By table, and by key, the rows that earlier batches stored, where these decide what a batch changes."""


def as_batch(spark: SparkSession, trial: Trial, log: str, stored: Stored | None = None) -> TrialResult:
    """Run a stateless query over all given rows, as one batch after those that stored what is kept."""
    with reporting_spark_errors(trial.query.title, log):
        session = spark.newSession()
        for feed in trial.feeds:
            rows = [row for batch in feed.batches for row in batch]
            frame = rows_to_frame(session, rows, feed.columns)
            frame.selectExpr("*", *feed.computed).createOrReplaceTempView(feed.view)
        return TrialResult(
            tuple(
                batch_outputs(
                    _uncounted_rows(session, trial), trial.query, 0, {} if stored is None else stored
                )
            )
        )


def as_stream(spark: SparkSession, trial: Trial, log: str) -> TrialResult:
    """Run a query over exactly the given micro-batches.

    Each source has as many batches, some of which may be empty. So batches don't depend on time.
    """
    with (
        tempfile.TemporaryDirectory(prefix="millstream-trial-") as checkpoint,
        reporting_spark_errors(trial.query.title, log),
    ):
        return _streamed(spark, trial, checkpoint)


def streamed_rows(session: SparkSession, trial: Trial) -> DataFrame:
    """Return a query's rows as a stream without rows, counted as in a run; it can only be analyzed."""
    for feed in trial.feeds:
        frame = empty_stream(session, feed.columns)
        frame.selectExpr("*", *feed.computed).createOrReplaceTempView(feed.view)
    return counting.with_counts(_rows(session, trial), trial.query)


def _streamed(spark: SparkSession, trial: Trial, checkpoint: str) -> TrialResult:
    """Run the micro-batches; the query is restarted from its checkpoint where other rows are at rest.

    A streaming query of Spark keeps the local relations that its plan was analyzed with.
    """
    session = spark.newSession()
    # The test adds empty batches where it expects rows after a batch; Spark must not add its own.
    session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    outputs: list[BatchOutput] = []
    stored: Stored = {}
    started = threading.Event()
    running: list[StreamingQuery] = []

    def each_batch(rows: DataFrame, number: int) -> None:
        outputs.extend(batch_outputs(rows, trial.query, number, stored))
        reached = trial.reached[number] if number < len(trial.reached) else None
        if reached is not None:
            started.wait()
            _advance(running[-1], reached)

    for numbers, at_rest in trial.parts:
        _stream(session, trial.feeds, numbers.stop)
        rows = _uncounted_rows(session, replace(trial, at_rest=at_rest))
        query = rows.writeStream.outputMode(trial.query.output_mode).foreachBatch(each_batch)
        started.clear()
        running.append(query.option("checkpointLocation", checkpoint).trigger(availableNow=True).start())
        started.set()
        running[-1].awaitTermination()
    progress = [batch for query in running for batch in query.recentProgress]
    states = [state_of(operator) for batch in progress for operator in batch.stateOperators]
    late, expired = sum(state.late for state in states), sum(state.expired for state in states)
    return TrialResult(tuple(outputs), late, expired)


def _advance(query: StreamingQuery, reached: int) -> None:
    """Advance event time as if a record had this time; it never goes back.

    Spark's MicroBatchExecution reads its WatermarkTracker only when it plans the next batch.
    """
    tracker: Any = query._jsq.streamingQuery().watermarkTracker()  # noqa: SLF001 -- there is no public API
    tracker.setWatermark(max(reached, tracker.currentWatermark()))


def _rows(session: SparkSession, trial: Trial) -> DataFrame:
    """Return the rows of a query, whose feeds have their views."""
    for name, value in trial.settings.items():
        session.conf.set(name, value)
    query = trial.query
    functions.register_functions(session, trial.project, query.functions, query.nested_calls, query.encoders)
    functions.register_decoders(session, trial.project, query.decoders)
    _all_at_rest(session, trial.project, trial.at_rest)
    if query.maintaining is not None:
        earlier, newest = (
            partial(_all_at_rest, session, trial.project, rows) for rows in (trial.earlier, trial.at_rest)
        )
        step_differences(session, query.maintaining, earlier, newest)
    for step in query.steps:
        make_view(session, step, trial.project, query.output_mode)
    return session.sql(query.sql)


def _uncounted_rows(session: SparkSession, trial: Trial) -> DataFrame:
    """Return the rows of a query without the figures that a run shows, which change no row."""
    return counting.without_markers(_rows(session, trial), trial.query)


def _all_at_rest(session: SparkSession, project: Project, rows: Iterable[AtRest]) -> None:
    for relation in rows:
        view_at_rest(session, project, relation)


def _stream(session: SparkSession, feeds: Iterable[ViewFeed], count: int) -> None:
    """Create the views of the feeds over their first micro-batches."""
    for feed in feeds:
        rows = [{**row, _BATCH: number} for number, batch in enumerate(feed.batches[:count]) for row in batch]
        frame = rows_to_frame(session, rows, f"{feed.columns}, {_BATCH} int")
        frame = stream_batches(frame, _BATCH, count)
        frame.selectExpr("*", *feed.computed).createOrReplaceTempView(feed.view)


def view_at_rest(session: SparkSession, project: Project, relation: AtRest) -> None:
    """Create the view of given rows at rest."""
    match relation:
        case LookupRows(view=view, columns=columns, rows=rows, computed=computed):
            frame = rows_to_frame(session, rows, columns)
            frame.selectExpr("*", *computed).createOrReplaceTempView(view)
        case ReferenceTopic(view=view):
            _newest(session, project, relation).createOrReplaceTempView(view)
        case OwnSeed(view=view, name=name):
            view_seed(session, view, project, project.seeds[name])


def _newest(session: SparkSession, project: Project, reference: ReferenceTopic) -> DataFrame:
    """Return the rows that the query of a reference topic stores; its views are in a separate session."""
    query, delivery_plan, reference_session = (
        reference.stored_by,
        reference.stored_by.deliver,
        session.newSession(),
    )
    assert isinstance(delivery_plan, PerBatch)
    (source,), (delivery,) = query.sources, delivery_plan.deliveries
    assert delivery.table is not None
    rows_to_frame(reference_session, reference.records, RECORDS).createOrReplaceTempView(source.view)
    for step in query.steps:
        make_view(reference_session, step, project, query.output_mode)
    reference_session.sql(query.sql).createOrReplaceTempView(delivery_plan.view)
    rows = latest_rows(reference_session.sql(delivery.sql), delivery.table.keys, None)
    rows = rows.where("not _deleted").drop("_deleted") if delivery.deletes else rows
    return table_to_frame(session, rows.toArrow(), rows.schema)


def rows_to_frame(session: SparkSession, rows: Sequence[Row], columns: str) -> DataFrame:
    """Return rows as a DataFrame; `columns` are DDL."""
    return table_to_frame(session, _table(rows, _arrow(columns)), StructType.fromDDL(columns))


def columns_to_ddl(columns: Iterable[Column]) -> str:
    return ", ".join(f"{quote_name(column.name)} {column.type}" for column in columns)


def table_to_frame(session: SparkSession, table: pa.Table, schema: Any) -> DataFrame:
    untyped: Any = session
    return untyped.createDataFrame(table, schema=schema)  # type: ignore[no-any-return]  # lacks Arrow's tables


def _arrow(columns: str) -> pa.Schema:
    schema: Any = StructType.fromDDL(columns)
    return to_arrow_schema(schema, timezone="UTC")


def _table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def batch_outputs(batch: DataFrame, query: Query, number: int, stored: Stored) -> Iterable[BatchOutput]:
    """Return what a batch would store: records, and the newest rows of tables."""
    delivery_plan = query.deliver
    if not isinstance(delivery_plan, PerBatch):
        yield BatchOutput(number, "", "records", _as_dicts(batch.toArrow()))
        return
    batch.createOrReplaceTempView(delivery_plan.view)
    several = len(delivery_plan.deliveries) > 1
    if several:
        batch.persist()
    try:
        for delivery in delivery_plan.deliveries:
            rows, table = batch.sparkSession.sql(delivery.sql), delivery.table
            if table is not None and not table.appends:
                rows = latest_rows(rows, table.newest_by, table.options.get("order_by"))
            records = delivery.target.written_as == "record"
            output = "" if records else delivery.name
            if table is not None and table.versions is not None:
                output_rows = _versions(rows, table, stored.setdefault(table.model, {}))
            elif table is not None and (requests := requests_of(table)) is not None:
                output_rows = _without_deleted(rows, requests, stored.setdefault(requests.model, {}))
            else:
                output_rows = _as_dicts(rows.toArrow())
            yield BatchOutput(number, output, "records" if records else "rows", output_rows)
    finally:
        if several:
            batch.unpersist()


def _versions(
    rows: DataFrame, table: TableOutput, versions: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return what new rows change in the versions of a table, and change these."""
    stored = rows_to_frame(rows.sparkSession, list(versions.values()), columns_to_ddl(table.columns))
    with version_differences(rows, stored, table) as differences:
        changed = differences.rows.toArrow()
    for row in changed.to_pylist():
        key = repr([row[name] for name in table.keys])
        versions.pop(key, None)
        if not row["_deleted"]:
            versions[key] = {name: value for name, value in row.items() if name != "_deleted"}
    return _as_dicts(changed)


def _without_deleted(
    rows: DataFrame, requests: TableOutput, earlier: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows that no request deletes, and the new requests, which later batches know."""
    new = newest_requests(rows, requests)
    new_requests = _as_dicts(new.toArrow())
    earlier |= {f"{len(earlier)} {number}": request for number, request in enumerate(new_requests)}
    columns = columns_to_ddl(requests.columns)
    names = [column.name for column in requests.columns]
    request_rows = [{name: request[name] for name in names} for request in earlier.values()]
    remaining = not_requested(
        rows.where("not _deleted"), rows_to_frame(rows.sparkSession, request_rows, columns), requests
    )
    return [*_as_dicts(remaining.toArrow()), *new_requests]


def _as_dicts(table: pa.Table) -> list[dict[str, Any]]:
    columns = [column.to_pylist(maps_as_pydicts="lossy") for column in table.columns]
    return [dict(zip(table.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


_WITHOUT_EQUALITY = ("map<", "variant")
"""Spark compares no rows with such types."""


def step_differences(
    session: SparkSession, plan: TableMaintenance, earlier: Callable[[], None], newest: Callable[[], None]
) -> None:
    """Create the view of the differences that a step makes.

    `earlier` and `newest` create the views of the inputs with their rows before and after the step. The first
    rows are computed in full, as by a first build; later ones by touched keys or weights, as the plan says.
    """
    earlier()
    stored = maintained.all_rows(session, plan.maintenance, plan.inputs).localCheckpoint()
    before = [session.table(view_of("now", index)).localCheckpoint() for index, _ in enumerate(plan.inputs)]
    newest()
    stored.createOrReplaceTempView(STORED)
    maintained.all_rows(session, plan.maintenance, plan.inputs)
    changed, first = set[NodeId](), True
    for index, (read, old) in enumerate(zip(plan.inputs, before, strict=True)):
        feed = _feed(old, session.table(view_of("now", index))).localCheckpoint()
        old.createOrReplaceTempView(view_of("before", index))
        maintained.create_views(session, index, feed)
        if read.relation.kind == "seed":
            continue
        first = first and old.isEmpty()
        if not feed.isEmpty():
            changed.add(read.relation)
    in_full = first or plan.maintenance.changing
    with maintained.open_differences(session, plan, None if in_full else changed) as difference:
        difference.rows.localCheckpoint().createOrReplaceTempView(plan.view)


def _feed(before: DataFrame, now: DataFrame) -> DataFrame:
    """Return the rows that were removed and added, as the change feed of a table has them."""
    removed, added = before, now
    if not any(kind in now.schema.simpleString() for kind in _WITHOUT_EQUALITY):
        columns = [f.col(quote_name(name)) for name in now.columns]
        removed, added = before.select(*columns).exceptAll(now), now.exceptAll(before.select(*columns))
    kind = "_change_type"
    return removed.withColumn(kind, f.lit("delete")).unionByName(added.withColumn(kind, f.lit("insert")))
