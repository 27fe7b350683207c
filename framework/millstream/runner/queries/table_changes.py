"""The changes of a table in a batch: one for each key, with the row before and after.

A batch may have several versions of a row, and Delta returns them in no order. Records are also computed for
the rows as they were before the batch, unless that would give others than were sent: an equal record is not
sent again, and a key that the topic does not have needs no tombstone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.expressions import quoted
from millstream.physical.values import PerBatch, Query
from millstream.runner.queries.deliveries import Stores, deliver, sink_records, store
from millstream.runner.queries.earlier_sql import has_records_of_earlier_sql
from millstream.runner.queries.small_batches import evaluated, planned_small
from millstream.runner.queries.tables import Tables
from millstream.stores.files import path_in
from millstream.stores.hadoop_files import files_of
from millstream.stores.spark import COMMITTED, KIND

_BEFORE, _LAST, _DELETED = "_before", "_last", "_deleted"


def follow_table(
    query: Query,
    tables: Tables,
    stores: Stores,
    checkpoint: str,
    rows_of: Callable[[SparkSession], DataFrame],
) -> Callable[[DataFrame, int], None]:
    """Return a function that stores what the changes of a table in a batch change in a query's outputs.

    `rows_of` evaluates the query over the view of its source.
    """
    compared = query.repeatable and not has_records_of_earlier_sql(tables.spark, query.signature, checkpoint)
    (source,), how = query.sources, query.deliver
    assert isinstance(how, PerBatch)
    keys = tables.keys(source.relation)

    def each_batch(feed: DataFrame, number: int) -> None:
        session = feed.sparkSession
        first = _has_first_rows(session, tables, source.relation, checkpoint, number)

        def computed(rows: DataFrame) -> DataFrame:
            rows.createOrReplaceTempView(source.view)
            return rows_of(session)

        with evaluated(net_changes(feed, keys, first=first)) as found, planned_small(session, found.few):
            own = stores
            if compared:
                computed(_rows_before(found.rows)).createOrReplaceTempView(how.view)
                if (sent := sink_records(session, how)) is not None:
                    own = replace(stores, only=_only_changed(sent, first=first))
            rows = computed(found.rows.select(f"{_LAST}.*", _DELETED))
            if found.few:
                store(rows, how, own, number, small=True)
            else:
                deliver(how, own)(rows, number)

    return each_batch


def _rows_before(changes: DataFrame) -> DataFrame:
    return changes.where(f"{_BEFORE} is not null").select(f"{_BEFORE}.*", f.lit(False).alias(_DELETED))


def net_changes(feed: DataFrame, keys: Sequence[str], *, first: bool) -> DataFrame:
    """Return for each changed key its row before all changes, its last row, and whether that is deleted.

    If the batch has the `first` rows of the table, rows that came and went are also returned: the topic may
    have them from an older version of the query.
    """
    gone = f.col(KIND).isin("update_preimage", "delete")
    row = f.struct(*(f.col(quoted(name)) for name in feed.columns if name not in (KIND, COMMITTED)))
    at = f.struct(f.col(COMMITTED), f.when(gone, 0).otherwise(1))
    found = feed.groupBy(*(f.col(quoted(key)).alias(f"_key_{i}") for i, key in enumerate(keys))).agg(
        f.min_by(f.when(gone, row), at).alias(_BEFORE),
        f.max_by(row, at).alias(_LAST),
        f.max_by(gone, at).alias(_DELETED),
    )
    return found if first else found.where(f"{_BEFORE} is not null or not {_DELETED}")


def _has_first_rows(
    session: SparkSession, tables: Tables, relation: str, checkpoint: str, number: int
) -> bool:
    """Return whether a batch may have rows that the table had when the query began to follow it."""
    if number == 0:
        return True
    content = files_of(checkpoint, session).read(path_in(checkpoint, f"offsets/{number - 1}"))
    assert content is not None, "Spark keeps the offsets of the last batches"
    return tables.versioned(relation).is_at_first_rows(json.loads(content.decode().splitlines()[-1]))


def _only_changed(before: DataFrame, *, first: bool) -> Callable[[DataFrame], DataFrame]:
    """Return a function that drops records that readers have: equal ones, and tombstones of absent keys."""

    def only_changed(records: DataFrame) -> DataFrame:
        contents = [name for name in before.columns if name not in ("topic", "key")]
        had = before.where("value is not null").select(
            f.col("topic").alias("_topic"), f.col("key").alias("_key"), f.struct(*contents).alias("_had")
        )
        same_key = (f.col("topic") == f.col("_topic")) & f.col("key").eqNullSafe(f.col("_key"))
        joined = records.join(had, same_key, "left")
        tombstone, known = f.col("value").isNull(), f.col("_had").isNotNull()
        needed: Column = known | f.lit(first)
        same = known & f.struct(*contents).eqNullSafe(f.col("_had"))
        return joined.where(f.when(tombstone, needed).otherwise(~same)).select(*records.columns)

    return only_changed
