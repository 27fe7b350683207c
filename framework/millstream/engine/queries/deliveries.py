"""Stores the micro-batches of a query that writes tables or several outputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from typing import Any

from msgspec import Struct, field
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.node_id import NodeId
from millstream.engine.queries.exactly_once import ExactlyOnce
from millstream.engine.queries.newest_rows import latest_rows
from millstream.engine.queries.record_sink import BatchRecords, RecordRows, header_options
from millstream.engine.queries.record_sizes import RecordSizes
from millstream.engine.queries.row_tests import CountsByBatch, run_row_checks
from millstream.engine.queries.small_batches import MOST, BatchInterpretation, evaluate_batch, plan_small
from millstream.outputs.kinds import BATCH
from millstream.outputs.registry import writer_of
from millstream.outputs.writing import WriterBatch, no_function, write_nothing
from millstream.queries.checks import count_name
from millstream.queries.dead_letters import REASON
from millstream.queries.values import (
    OutputDelivery,
    PerBatch,
    TableOutput,
    WriterOutput,
    sinks_in,
)
from millstream.stores.session_settings import takes_fast_paths
from millstream.stores.spark import MAINTAINED, TableBatch


class BatchWriter(Struct, frozen=True):
    """Where the batches of a query are stored."""

    identity: str
    """Identifies the query and its checkpoint, since a new checkpoint numbers batches from 0 again."""
    kafka: Mapping[str, str]
    merge: Callable[[DataFrame, TableOutput, TableBatch], None]
    """Stores the newest rows of a batch in a table, only once for repeated calls."""
    new: frozenset[NodeId] = frozenset()
    """Tables that are empty before the first batch."""
    distinct: bool = False
    """Each batch has one row for each key, and gives the same rows again when it is read again."""
    check: Callable[[SparkSession, int], None] | None = None
    """Called after the tables are written and before records are sent."""
    hold: Callable[[DataFrame, int], None] | None = None
    """Stores records instead of sending them."""
    only: Callable[[DataFrame], DataFrame] | None = None
    """Returns the records that a batch has to send."""
    without_sent: Callable[[DataFrame], DataFrame] | None = None
    """Removes records that another version has sent."""
    exactly_once: ExactlyOnce | None = None
    """Sends records in transactions, if the query does that."""
    function: Callable[[str], Callable[..., Any]] = no_function
    """Loads a function of the project that writes batches."""
    environment: str = ""
    """The isolated environment; empty in production."""
    skipped: int | None = None
    """The number of a batch whose rows are written by no kind: another version has written them."""
    sizes: RecordSizes | None = None
    """What happens to records that are larger than Kafka accepts; None: the query stops."""
    sent_as: Callable[[int | None], str] | None = None
    """Returns the header of a batch's records by its number; by default, `identity` and the number."""
    records: Callable[[int], int | None] = lambda _: None
    """How many records a batch reads, by its number; None if that is unknown."""
    again: int | None = None
    """The number of a batch that was started before, and may have been stored."""
    turn: AbstractContextManager[Any] | None = None
    """Limits simultaneous batches; None for no limit."""
    ended: Callable[[int, float], None] | None = None
    """Called after a batch, with its records and the seconds of its work."""
    positions: Callable[[int], str] = lambda _: ""
    """Which records a batch reads, by its number, as text."""
    raised: list[Exception] = field(default_factory=list)
    """Errors of batches, since Spark passes on only their text."""
    counted: CountsByBatch = field(default_factory=CountsByBatch)


def batch_function(delivery: PerBatch, writer: BatchWriter) -> Callable[[DataFrame, int], None]:
    """Return a function that stores a batch: tables first, so that readers of the records find their rows."""
    tables = any(output.target.written_as in {"row", "batch"} for output in delivery.deliveries)
    several = len(delivery.deliveries) > 1 or any(o.counts_sql or o.failed_sql for o in delivery.deliveries)

    def each_batch(batch: DataFrame, number: int) -> None:
        again = number == writer.again
        records = writer.records(number) if several or tables else None
        if records is not None and records <= MOST and takes_fast_paths(batch.sparkSession):
            with evaluate_batch(batch) as computed, plan_small(batch.sparkSession, computed.few):
                store_batch(computed.rows, delivery, writer, number, small=computed.few)
            return
        if several or again:
            batch.persist()
        try:
            if again:
                # A table that already has the rows does not read them, and then Spark would store no state.
                batch.write.format("noop").mode("overwrite").save()
            store_batch(batch, delivery, writer, number)
        finally:
            if several or again:
                batch.unpersist()

    return each_batch


def store_batch(
    rows: DataFrame, delivery: PerBatch, writer: BatchWriter, number: int, *, small: bool = False
) -> None:
    """Store a batch once; `small` rows are in the driver."""
    tables = [table for table in delivery.deliveries if table.target.written_as == "row"]
    sinks = [sink for sink in delivery.deliveries if sink.target.written_as == "record"]
    rows.createOrReplaceTempView(delivery.view)
    positions = writer.positions(number)
    checked = run_row_checks(
        rows, delivery.deliveries, positions, is_maintained=writer.identity == MAINTAINED
    )
    writer.counted.add(number, checked)
    for table in tables:
        _store(rows, table, writer, number, small=small)
    if writer.check is not None:
        writer.check(rows.sparkSession, number)
    records = [
        letters
        for output in delivery.deliveries
        if (letters := _write(rows.sparkSession, output, writer, number)) is not None
    ]
    if sinks:
        sent = _together(rows.sparkSession, sinks)
        records.insert(0, sent if writer.only is None else writer.only(sent))
    if records:
        write_records(_all_of(records), writer, number)


def _write(
    session: SparkSession, delivery: OutputDelivery, writer: BatchWriter, number: int
) -> DataFrame | None:
    """Let a kind of output write its rows; return those that it could not write, as dead letters."""
    output = delivery.target
    if not isinstance(output, WriterOutput):
        return None
    rows, model = session.sql(delivery.sql), output.model.name
    if number == writer.skipped:
        write_nothing(rows)
        return None
    if output.keys:
        rows = latest_rows(rows, output.keys, None)
        rows = rows if delivery.deletes else rows.withColumn("_deleted", f.lit(False))
    reason = writer_of(output.writer)(
        rows,
        output.options,
        WriterBatch(
            model,
            f"{model}/{_sent_as(writer, number).partition('/')[2]}",
            number == writer.again,
            writer.environment,
            writer.function,
        ),
    )
    if reason is None:
        return None
    letters = session.sql(delivery.failed_sql)
    count = letters.count()
    counts = {count_name("dead_letters", output.model): count, count_name("rows", output.model): -count}
    writer.counted.add_up(number, counts)
    value = f.lit(reason).cast("binary")
    why = f.array(f.struct(f.lit(REASON).alias("key"), value.alias("value")))
    return letters.withColumn("headers", f.concat("headers", why))


def sink_records(session: SparkSession, delivery: PerBatch) -> DataFrame | None:
    """Return the records of all sinks for the rows of a batch; None without sinks."""
    sinks = [output for output in delivery.deliveries if sinks_in([output.target])]
    return _together(session, sinks) if sinks else None


def _together(session: SparkSession, sinks: Sequence[OutputDelivery]) -> DataFrame:
    """Return the records of all topics, which are written together."""
    return _all_of(session.sql(sink.sql) for sink in sinks)


def _all_of(records: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), records)


def in_turn(
    work: Callable[[DataFrame, int], None],
    writer: BatchWriter,
    interpretation: BatchInterpretation | None = None,
) -> Callable[[DataFrame, int], None]:
    """Return a function that waits for the batch's turn, then does the work."""
    interpretation = interpretation or BatchInterpretation()

    def each_batch(batch: DataFrame, number: int) -> None:
        with writer.turn or nullcontext():
            began = time.monotonic()
            try:
                work(batch, number)
            except Exception as error:
                writer.raised.append(error)
                raise
        if (records := writer.records(number)) is not None:
            interpretation.follow(batch.sparkSession, records)
            # The first batch of a new query also creates what the others find.
            if writer.ended is not None and number:
                writer.ended(records, time.monotonic() - began)

    return each_batch


def _store(
    batch: DataFrame, delivery: OutputDelivery, writer: BatchWriter, number: int, *, small: bool
) -> None:
    table = delivery.table
    assert table is not None
    rows, new = batch.sparkSession.sql(delivery.sql), number == 0 and table.model in writer.new
    if writer.distinct or table.appends:
        table_batch = TableBatch(writer.identity, number, deletes=delivery.deletes, new=new, local=small)
        writer.merge(rows, table, table_batch)
        return
    rows = latest_rows(rows, table.newest_by, table.options.get("order_by"))
    with evaluate_batch(rows) if small else nullcontext() as computed:
        few = computed is not None and computed.few
        table_batch = TableBatch(writer.identity, number, deletes=delivery.deletes, new=new, local=few)
        writer.merge(rows if computed is None else computed.rows, table, table_batch)


def with_batch(records: DataFrame, writer: BatchWriter, number: int | None) -> DataFrame:
    """Add the header by which records of a repeated batch are recognised; real-time mode has no numbers."""
    value = f.lit(_sent_as(writer, number)).cast("binary")
    headers = f.array(f.struct(f.lit(BATCH).alias("key"), value.alias("value")))
    if "headers" in records.columns:
        headers = f.concat(f.coalesce(f.col("headers"), f.array()), headers)
    return records.withColumn("headers", headers)


def _sent_as(writer: BatchWriter, number: int | None) -> str:
    return writer.sent_as(number) if writer.sent_as is not None else f"{writer.identity}/{number}"


def write_records(records: DataFrame, writer: BatchWriter, number: int) -> None:
    """Write the records of a batch."""
    if writer.without_sent is not None:
        records = writer.without_sent(records)
    if writer.hold is not None:
        writer.hold(with_batch(records, writer, number), number)
        return
    send_records(RecordRows(records), writer, number)


def send_records(records: BatchRecords, writer: BatchWriter, number: int) -> None:
    options = {**writer.kafka, **header_options(BATCH, _sent_as(writer, number))}
    sizes = writer.sizes
    options |= {} if sizes is None else sizes.options()
    try:
        if writer.exactly_once is not None:
            writer.exactly_once.write(records, options, number)
        else:
            records.send(options)
    finally:
        left_out = {} if sizes is None else sizes.left_out(records.rows.sparkSession._jvm, options)  # noqa: SLF001
    if left_out:
        writer.counted.add_up(number, left_out)
