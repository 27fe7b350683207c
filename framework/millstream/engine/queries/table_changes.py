"""The changes of a table in a batch: one for each key, with the row before and after.

A batch may have several versions of a row, and Delta returns them in no order. Records are also computed for
the rows as they were before the batch, unless that would give others than were sent: an equal record is not
sent again, and a key that the topic does not have needs no tombstone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.engine.queries.change_records import HAD, FollowedBatch, change_records, source_of
from millstream.engine.queries.deliveries import BatchWriter, batch_function, sink_records, store_batch
from millstream.engine.queries.earlier_sql import has_records_of_earlier_sql
from millstream.engine.queries.small_batches import evaluate_batch, plan_small
from millstream.engine.queries.tables import Tables
from millstream.queries.values import PerBatch, Query
from millstream.stores.files import path_in
from millstream.stores.hadoop_files import files_of
from millstream.stores.spark import COMMITTED, COMMITTED_AT, KIND

_BEFORE, _LAST, _DELETED, _VERSION, _TIME = "_before", "_last", "_deleted", "_version", "_time"
Only = Callable[[DataFrame], DataFrame]
"""Returns the records that a batch has to send."""


def follow_table(
    query: Query,
    tables: Tables,
    stores: BatchWriter,
    checkpoint: str,
    rows_of: Callable[[SparkSession], DataFrame],
) -> Callable[[DataFrame, int], None]:
    """Return a function that stores what the changes of a table in a batch change in a query's outputs.

    `rows_of` evaluates the query over the view of its source.
    """
    mixed = has_records_of_earlier_sql(tables.spark, query.signature, checkpoint)
    # An edit of a query that sends changes is not accepted without a rebuild.
    compared = query.repeatable and (query.sends_changes or not mixed)
    (source,), how = query.sources, query.deliver
    assert isinstance(how, PerBatch)
    keys = tables.keys(source.relation)
    doubtful = [sink.topic for sink in query.sinks if sink.keeps_out]

    def each_batch(feed: DataFrame, number: int) -> None:
        session = feed.sparkSession
        first = _has_first_rows(session, tables, source.relation, checkpoint, number)

        def computed(rows: DataFrame) -> DataFrame:
            rows.createOrReplaceTempView(source.view)
            return rows_of(session)

        with (
            evaluate_batch(net_changes(feed, keys, first=first)) as changes,
            plan_small(session, changes.few),
        ):
            batch_stores = stores
            if compared:
                computed(_rows_before(changes.rows)).createOrReplaceTempView(how.view)
                if (sent := sink_records(session, how)) is not None:
                    only = _only_changed(sent, doubtful=doubtful, first=first)
                    if query.sends_changes:
                        batch = _described(changes.rows, _started(session, checkpoint, number), first=first)
                        only = _as_changes(only, query, tables, batch)
                    batch_stores = replace(stores, only=lambda records: only(records).drop(HAD))
            rows = computed(changes.rows.select(f"{_LAST}.*", _DELETED))
            if changes.few:
                store_batch(rows, how, batch_stores, number, small=True)
            else:
                batch_function(how, batch_stores)(rows, number)

    return each_batch


def _as_changes(only: Only, query: Query, tables: Tables, batch: FollowedBatch) -> Only:
    """Return a function that turns the records of the only sink of a query into changes."""
    (output,) = query.sinks
    (source,) = query.sources
    about = source_of(tables.project.settings.name, source.relation, batch)
    return lambda records: change_records(only(records), about, batch, tombstones=output.sink.tombstones)


def _rows_before(changes: DataFrame) -> DataFrame:
    return changes.where(f"{_BEFORE} is not null").select(f"{_BEFORE}.*", f.lit(False).alias(_DELETED))


def net_changes(feed: DataFrame, keys: Sequence[str], *, first: bool) -> DataFrame:
    """Return for each changed key its row before all changes, its last row, and whether that is deleted.

    If the batch has the `first` rows of the table, rows that came and went are also returned: the topic may
    have them from an older version of the query. `_VERSION` and `_TIME` are those of its last change.
    """
    gone = f.col(KIND).isin("update_preimage", "delete")
    feed_columns = (KIND, COMMITTED, COMMITTED_AT)
    row = f.struct(*(f.col(quote_name(name)) for name in feed.columns if name not in feed_columns))
    position = f.struct(f.col(COMMITTED), f.when(gone, 0).otherwise(1))
    changes = feed.groupBy(*(f.col(quote_name(key)).alias(f"_key_{i}") for i, key in enumerate(keys))).agg(
        f.min_by(f.when(gone, row), position).alias(_BEFORE),
        f.max_by(row, position).alias(_LAST),
        f.max_by(gone, position).alias(_DELETED),
        f.max(COMMITTED).alias(_VERSION),
        f.max(COMMITTED_AT).alias(_TIME),
    )
    return changes if first else changes.where(f"{_BEFORE} is not null or not {_DELETED}")


def _described(changes: DataFrame, started: int, *, first: bool) -> FollowedBatch:
    newest = changes.agg(f.max(_VERSION), f.unix_millis(f.max(_TIME))).first()
    assert newest is not None
    version, committed = newest
    return FollowedBatch(started, version or 0, committed or started, first)


def _has_first_rows(
    session: SparkSession, tables: Tables, relation: str, checkpoint: str, number: int
) -> bool:
    """Return whether a batch may have rows that the table had when the query began to follow it."""
    if number == 0:
        return True
    return tables.versioned(relation).is_at_first_rows(_recorded(session, checkpoint, number - 1)[-1])


def _started(session: SparkSession, checkpoint: str, number: int) -> int:
    """Return when a batch was planned, in milliseconds since 1970; a repeated batch has the same time."""
    return int(_recorded(session, checkpoint, number)[0]["batchTimestampMs"])


def _recorded(session: SparkSession, checkpoint: str, number: int) -> list[dict[str, Any]]:
    """Return what Spark has recorded of a batch before it began: about the batch, then its end."""
    content = files_of(checkpoint, session).read(path_in(checkpoint, f"offsets/{number}"))
    assert content is not None, "Spark keeps the offsets of the last batches"
    return [json.loads(line) for line in content.decode().splitlines()[1:]]


def _only_changed(before: DataFrame, *, doubtful: Sequence[str], first: bool) -> Only:
    """Return a function that drops records that readers have: equal ones, and tombstones of absent keys.

    `HAD` has the contents of the record before, if there was one. `doubtful` topics may have a record even if
    there was none.
    """

    def only_changed(records: DataFrame) -> DataFrame:
        contents = [name for name in before.columns if name not in ("topic", "key")]
        had = before.where("value is not null").select(
            f.col("topic").alias("_topic"), f.col("key").alias("_key"), f.struct(*contents).alias(HAD)
        )
        same_key = (f.col("topic") == f.col("_topic")) & f.col("key").eqNullSafe(f.col("_key"))
        joined = records.join(had, same_key, "left")
        tombstone, has_before = f.col("value").isNull(), f.col(HAD).isNotNull()
        needed: Column = has_before | f.lit(first) | f.col("topic").isin(*doubtful)
        same = has_before & f.struct(*contents).eqNullSafe(f.col(HAD))
        return joined.where(f.when(tombstone, needed).otherwise(~same)).select(*records.columns, HAD)

    return only_changed
