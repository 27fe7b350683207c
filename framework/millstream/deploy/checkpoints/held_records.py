"""Records of a rebuilt version that are held back, since the running version still sends its own.

They are stored next to the checkpoint, batch by batch, and sent when the rebuilt version takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.deploy.checkpoints.files import CheckpointFolder
from millstream.deploy.checkpoints.pending_swap import Bounds, PendingSwap
from millstream.deploy.checkpoints.transactions import TransactionNames
from millstream.engine.queries.positions import position_column, without_earlier
from millstream.engine.queries.record_sink import RecordRows
from millstream.engine.queries.record_sizes import sink_options_of
from millstream.kafka.cluster import Cluster, reveal_options
from millstream.kafka.settings import sink_options
from millstream.stores.files import Files

_BATCH = "_batch"


class HeldRecords(Struct, frozen=True):
    """Sends the held records of a target's queries."""

    spark: SparkSession
    files: Files
    cluster: Cluster
    trigger: str
    transactions: TransactionNames | None = None

    def send(self, checkpoint: CheckpointFolder, pending: PendingSwap) -> None:
        """Send the records that a version was to send before it takes over; repeats have the same headers."""
        folder = checkpoint.held(pending.record)
        batches = sorted((name for name in self.files.names(folder) if name.isdigit()), key=int)
        if not batches:
            return
        rows = self.spark.read.parquet(*(f"{folder}/{number}" for number in batches))
        records = without_earlier(rows, pending.bounds)
        if pending.upserts:
            records = _newest(records)
        # A tombstone follows the delete of the same batch.
        in_order = (f.col(_BATCH), f.col("value").isNull())
        held = RecordRows(records.coalesce(1).sortWithinPartitions(*in_order).drop(_BATCH))
        options = reveal_options(sink_options(self.cluster, {}, self.trigger)) | sink_options_of(
            pending.sizes
        )
        if pending.exactly_once and self.transactions is not None:
            name = pending.record.query
            sender = self.transactions.of(
                name, f"{name}/{pending.record.id}/held", (pending.record.outputs or {}).values()
            )
            sender.repeating(0).write(held, options, 0)
        else:
            held.send(options)


def hold_records(
    folder: str, dead_letters: Collection[str], bounds: Callable[[], Bounds]
) -> Callable[[DataFrame, int], None]:
    """Return a function that stores the records of a batch, except those that are certainly not sent later.

    The running version sends those of original records before `bounds`. The dead letters of a source are sent
    by whichever version has read the records, as after every change of queries.
    """

    def hold(records: DataFrame, number: int) -> None:
        held = records.where(~f.col("topic").isin(*dead_letters)) if dead_letters else records
        held = without_earlier(held, bounds()).withColumn(_BATCH, f.lit(number))
        held.write.mode("overwrite").parquet(f"{folder}/{number}")

    return hold


def _newest(records: DataFrame) -> DataFrame:
    """Return the newest record of each key of a topic; records with a position of their own all remain."""
    names = records.columns
    placed = records.where(position_column().isNotNull())
    newest = (
        records.where(position_column().isNull())
        .groupBy("topic", "key")
        .agg(f.max_by(f.struct(*names), _BATCH).alias("newest"))
        .select(*(f.col("newest").getField(name).alias(name) for name in names))
    )
    return placed.unionByName(newest)
