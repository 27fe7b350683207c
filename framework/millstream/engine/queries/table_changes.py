"""The changes of a table in a batch: one for each key, with the row before and after.

A batch may have several versions of a row, and Delta returns them in no order. Records are also computed for
the rows as they were before the batch, unless that would give others than were sent: an equal record is not
sent again, and a key that the topic does not have needs no tombstone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream import __version__
from millstream.core.encoding import to_json
from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.engine.queries.deliveries import BatchWriter, batch_function, sink_records, store_batch
from millstream.engine.queries.small_batches import evaluate_batch, plan_small
from millstream.engine.queries.tables import Tables
from millstream.formats.changes import CREATED, DELETED, READ, UPDATED
from millstream.queries.meanings import digest_text
from millstream.queries.values import PerBatch, Query, QuerySignature
from millstream.stores.files import path_in, read_json, write_json
from millstream.stores.hadoop_files import files_of
from millstream.stores.spark import COMMITTED, COMMITTED_AT, KIND

_BEFORE, _LAST, _DELETED, _VERSION, _TIME = "_before", "_last", "_deleted", "_version", "_time"
Only = Callable[[DataFrame], DataFrame]
"""Returns the records that a batch has to send."""


def follow_table(
    query: Query,
    tables: Tables,
    writer: BatchWriter,
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
            batch_stores = writer
            if compared:
                computed(_rows_before(changes.rows)).createOrReplaceTempView(how.view)
                if (sent := sink_records(session, how)) is not None:
                    only = _only_changed(sent, doubtful=doubtful, first=first)
                    if query.sends_changes:
                        batch = _described(changes.rows, _started(session, checkpoint, number), first=first)
                        only = _as_changes(only, query, tables, batch)
                    batch_stores = replace(writer, only=lambda records: only(records).drop(HAD))
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
    session: SparkSession, tables: Tables, relation: NodeId, checkpoint: str, number: int
) -> bool:
    """Return whether a batch may have rows that the table had when the query began to follow it."""
    if number == 0:
        return True
    return tables.is_at_first_rows(relation, _recorded(session, checkpoint, number - 1)[-1])


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


# An edit may be accepted without a rebuild: then a query continues from its checkpoint, and records stay as
# they are until their row changes. What the new SQL gives for a row as it was says nothing about such a
# record.


_FILE = "_millstream_computed.json"
"""In the folder of a checkpoint."""


class _Computed(Struct, frozen=True):
    models: dict[NodeId, str]
    """By model, a digest of all that decides its records."""
    mixed: bool
    """Some of the records may be from another version."""


def has_records_of_earlier_sql(session: SparkSession, signature: QuerySignature, checkpoint: str) -> bool:
    """Record by which SQL a query computes records, and return whether others may be in its topics."""
    files, path = files_of(checkpoint, session), path_in(checkpoint, _FILE)
    before = read_json(files, path, _Computed)
    models = {
        model.model: digest_text(to_json((model, signature.timezone, signature.settings)).decode())
        for model in signature.stored
    }
    if before is None:
        mixed = bool(files.names(path_in(checkpoint, "offsets")))
    else:
        # A model that is new to the query sends all rows.
        edited = (before.models.get(model, now) != now for model, now in models.items())
        mixed = before.mixed or any(edited)
    computed = _Computed({**(before.models if before else {}), **models}, mixed)
    if computed != before:
        write_json(files, path, computed)
    return mixed


# A delete is followed by a record without a value, a tombstone, so that a compacted topic drops the key. The
# row before a change is that of the version to which the last batch has brought readers: what they have.


HAD = "_had"
"""The column with the contents of a record as it was before the batch, NULL if there was none."""


class FollowedBatch(Struct, frozen=True):
    """A batch of a query that follows a table."""

    started: int
    """When it was planned, in milliseconds since 1970; a repeated batch has the same time."""
    version: int
    """The version of the table to which it brings readers."""
    committed: int
    """The time of that version."""
    first: bool
    """It may have rows that the table had when the query began to follow it."""


def source_of(project: str, table: NodeId, batch: FollowedBatch) -> dict[str, Any]:
    """Return where changes come from, in Debezium's words; `lsn` is the version of the table."""
    return {
        "version": __version__,
        "connector": "millstream",
        "name": project,
        "ts_ms": batch.committed,
        "snapshot": "false",
        "db": project,
        "table": table.name,
        "lsn": batch.version,
    }


def change_records(
    records: DataFrame, source: dict[str, Any], batch: FollowedBatch, *, tombstones: bool
) -> DataFrame:
    """Return changes for records and tombstones, which `HAD` precedes.

    If the row before a delete is unknown, its tombstone alone is sent: only the first batch has such deletes,
    of keys that an earlier version may have sent.
    """
    value, before = f.col("value"), f.col(f"{HAD}.value")
    has_before = f.col(HAD).isNotNull()
    new = READ if batch.first else CREATED
    kind = f.when(value.isNull(), DELETED).when(has_before, UPDATED).otherwise(new)
    read = _json(source | {"snapshot": "true"})
    from_table = f.when(kind == READ, read).otherwise(_json(source))
    change = f.concat(
        _text('{"before":'), f.coalesce(before, _text("null")),
        _text(',"after":'), f.coalesce(value, _text("null")),
        _text(',"source":'), from_table,
        _text(',"op":"'), kind.cast("binary"), _text(f'","ts_ms":{batch.started}}}'),
    )  # fmt: skip
    changed, tombstone = _record(records, change), _record(records, value)
    sent = f.array(changed)
    if tombstones:
        of_delete = f.when(has_before, f.array(changed, tombstone)).otherwise(f.array(tombstone))
        sent = f.when(value.isNull(), of_delete).otherwise(sent)
    # The two records of a delete stay next to each other, in this order.
    return records.select(f.inline(sent))


def _record(records: DataFrame, value: Column) -> Column:
    fields = (
        value.alias(name) if name == "value" else f.col(name) for name in records.columns if name != HAD
    )
    return f.struct(*fields)


def _json(value: dict[str, Any]) -> Column:
    return _text(to_json(value).decode())


def _text(text: str) -> Column:
    return f.lit(text).cast("binary")
