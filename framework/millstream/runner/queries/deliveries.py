"""What happens to each micro-batch of a query that stores it in several places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from typing import Any

from msgspec import Struct, field
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.errors import MillstreamError
from millstream.physical.values import DeadLetters, Delivery, PerBatch, SinkOutput, TableOutput
from millstream.runner.queries.latest import newest
from millstream.runner.queries.row_tests import Tested, ask
from millstream.runner.queries.timestamps import send_stamped
from millstream.stores.spark import Batch

BATCH_HEADER = "millstream.batch"
"""`<query>/<checkpoint>/<batch>`: records of a batch that is tried again carry the same one."""


class Stores(Struct, frozen=True):
    """Where batches go."""

    identity: str
    """Of the query and its checkpoint: numbers of batches begin anew with a new one."""
    kafka: Mapping[str, str]
    """Options of the Kafka sink."""
    producer: Mapping[str, str]
    """Settings of Millstream's own producer, for what Spark's sink can't do."""
    merge: Callable[[DataFrame, TableOutput, Batch], None]
    """Stores the newest rows of a batch in a table, once however often it is called."""
    new: frozenset[str] = frozenset()
    """Tables that nothing was stored in before the first batch."""
    check: Callable[[SparkSession, int], None] | None = None
    """Called when the tables have a batch, and nobody has heard of it."""
    again: int | None = None
    """The batch that was begun before, and perhaps stored."""
    turn: AbstractContextManager[Any] | None = None
    """What each batch waits for; None: for nothing."""
    raised: list[MillstreamError] = field(default_factory=list)
    """Why a batch was refused: Spark hands on no more than a text."""
    tested: Tested = field(default_factory=Tested)
    """Takes what data tests find."""


def deliver(how: PerBatch, stores: Stores) -> Callable[[DataFrame, int], None]:
    """Return what is done with each batch: tables first, since records tell others of them."""
    tables = [each for each in how.deliveries if isinstance(each.target, TableOutput)]
    sinks = [each for each in how.deliveries if isinstance(each.target, SinkOutput | DeadLetters)]
    several = len(how.deliveries) > 1 or any(each.counts_sql for each in how.deliveries)

    def each_batch(batch: DataFrame, number: int) -> None:
        batch.createOrReplaceTempView(how.view)
        again = number == stores.again
        if several or again:
            batch.persist()
        try:
            if again:
                # A table that has the rows does not ask for them again, and without that no state is kept.
                batch.write.format("noop").mode("overwrite").save()
            stores.tested.note(number, ask(batch, how.deliveries))
            for each in tables:
                _store(batch, each, stores, number)
            if stores.check is not None:
                stores.check(batch.sparkSession, number)
            if sinks:
                _send(batch, sinks, stores, number)
        finally:
            if several or again:
                batch.unpersist()

    return each_batch


def in_turn(work: Callable[[DataFrame, int], None], stores: Stores) -> Callable[[DataFrame, int], None]:
    """Return what Spark calls with each batch, and when its turn comes, does the work."""

    def each_batch(batch: DataFrame, number: int) -> None:
        with stores.turn or nullcontext():
            try:
                work(batch, number)
            except MillstreamError as error:
                stores.raised.append(error)
                raise

    return each_batch


def _store(batch: DataFrame, delivery: Delivery, stores: Stores, number: int) -> None:
    table = delivery.target
    assert isinstance(table, TableOutput)
    rows = newest(batch.sparkSession.sql(delivery.sql), table.keys, table.options.get("order_by"))
    new = number == 0 and table.model in stores.new
    stores.merge(rows, table, Batch(stores.identity, number, deletes=delivery.deletes, new=new))


def _send(batch: DataFrame, sinks: list[Delivery], stores: Stores, number: int) -> None:
    """Write the records of all topics in one go."""
    parts = (batch.sparkSession.sql(each.sql) for each in sinks)
    records = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    send(records, stores, number)


def send(records: DataFrame, stores: Stores, number: int) -> None:
    """Write records with a header that makes those of a repeated batch recognisable."""
    said = f.lit(f"{stores.identity}/{number}").cast("binary")
    header = f.array(f.struct(f.lit(BATCH_HEADER).alias("key"), said.alias("value")))
    own = f.coalesce(f.col("headers"), f.array()) if "headers" in records.columns else None
    headers = header if own is None else f.concat(own, header)
    told = records.withColumn("headers", headers)
    if "timestamp" in records.columns:
        send_stamped(told, stores.producer)
    else:
        told.write.format("kafka").options(**stores.kafka).save()
