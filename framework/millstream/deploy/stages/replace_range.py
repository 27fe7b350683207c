"""Computes a range of a table again, from all that its query has read, and replaces its rows.

Meanwhile, no batch of the query is stored. Nothing changes its checkpoint: its next batch appends what it
reads then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace
from pyspark.sql import DataFrame

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import last_done, read_up_to, watermark_of, write_record
from millstream.deploy.engine import Engine
from millstream.deploy.planning.ranges import rebuild_remedy
from millstream.deploy.planning.records import QueryRecord
from millstream.deploy.planning.stages import ReplaceRange
from millstream.deploy.values import RangeReplaced, SetupStep
from millstream.engine.queries.histories import HistoryReads
from millstream.engine.queries.small_batches import evaluate_batch
from millstream.engine.queries.start import run_once
from millstream.kafka.clients import admin_of
from millstream.kafka.offsets import lacks_records
from millstream.plan.time_ranges import TimeRange
from millstream.queries.topology import range_query_of
from millstream.queries.values import Query, TableOutput
from millstream.sources.positions import Positions, ends_of
from millstream.stores.spark import TableBatch


def replace_ranges(engine: Engine, query: Query, stage: ReplaceRange) -> None:
    """Replace ranges of tables whose query stands between two batches."""
    record = engine.record(query)
    assert record is not None, f"{query.name} has not run"
    spark = engine.checkpoint(query).spark(record)
    done = last_done(engine.files, spark)
    if done is None:
        return  # there was nothing to read
    read = read_up_to(engine.files, spark, done, query.streams)
    assert read is not None, f"Spark has written the log of {query.name} in another format"
    closed_until = watermark_of(engine.files, spark, done)
    for model, part in stage.ranges.items():
        if model in record.left_out:
            continue  # it failed, which is reported: its rows end before those of the others
        alone = range_query_of(engine.job.topology, model, part, closed_until)
        _replace(engine, alone, read, part, fewer_rows=stage.fewer_rows)
        record = _note(engine, query, record, model, part)


def _note(engine: Engine, query: Query, record: QueryRecord, model: NodeId, part: TimeRange) -> QueryRecord:
    """Record that rows of a range are not those of an older version any more."""
    older = record.older.get(model)
    replaced = (part.column, part.start, part.end)
    if older is None or replaced in older.replaced:
        return record
    noted = replace(older, replaced=(*older.replaced, replaced))
    record = replace(record, older=record.older | {model: noted})
    write_record(engine.files, engine.checkpoint(query), record)
    return record


def _replace(engine: Engine, query: Query, read: Positions, part: TimeRange, *, fewer_rows: bool) -> None:
    (model,) = query.stored
    stage = f"range of {model.name}"
    engine.tell(SetupStep(stage))
    # The topic may no longer have what the query read of it, and the history has it meanwhile.
    histories = engine.histories(query)
    context = engine.context_of(query, f"{query.name}/range", alone=True)
    context = engine.with_histories(query, context, HistoryReads(histories))

    def store(rows: DataFrame, table: TableOutput, _batch: TableBatch) -> None:
        tables, session = engine.tables, rows.sparkSession
        stored = tables.rows(session, table).where(part.condition)
        before = stored.count()
        with evaluate_batch(tables.not_deleted(rows, table)) as computed:
            lacking = () if fewer_rows else _lacking(engine, query, part, read)
            if lacking and (missing := _missing_rows(stored, computed.rows)):
                raise _lost_rows(query, f"{missing:,} of the {before:,} rows", lacking)
            tables.replace_range(computed.rows, table, part)
        now = tables.rows(session, table).where(part.condition).count()
        engine.tell(RangeReplaced(model, part.column, part.start, part.end, now, before))

    context = replace(context, stores=replace(context.stores, merge=store))
    ranges = engine.ranges(query, {}, read, histories)
    if unknown := [source.title for source in query.source_reads if source.stream not in ranges]:
        message = f"how far {query.name} has read {', '.join(unknown)} is unknown"
        raise MillstreamError(Diagnostic("MS640", message, None, rebuild_remedy(model)))
    try:
        run_once(engine.spark, query, context, ranges)
    finally:
        engine.tell(SetupStep(stage, done=True))


def _lacking(engine: Engine, query: Query, part: TimeRange, read: Positions) -> list[str]:
    """Return the topics that may no longer have records of the range, and sources without what was read."""
    topics = dict.fromkeys(
        topic for source in query.topic_reads if not source.history for topic in source.topics
    )
    admin = admin_of(engine.kafka.cluster)
    ends = ends_of(engine.job.project, (source.stream for source in query.source_reads))
    return [
        *(topic for topic in topics if lacks_records(admin, topic, part.records_since)),
        *(s.title for s in query.source_reads if not ends[s.stream].covers(read[s.stream])),
    ]


def _missing_rows(stored: DataFrame, computed: DataFrame) -> int:
    """Return how many of the stored rows are not computed, as far as their columns can be compared."""
    columns = {column.lower() for column in computed.columns}
    compared = [
        field.name
        for field in stored.schema
        if field.name.lower() in columns and not _INCOMPARABLE.search(field.dataType.simpleString())
    ]
    names = [quote_name(name) for name in compared]
    return stored.select(*names).exceptAll(computed.select(*names)).count()


_INCOMPARABLE = re.compile(r"\b(?:map|variant)\b")


def _lost_rows(query: Query, rows: str, sources: Sequence[str]) -> MillstreamError:
    message = (
        f"{rows} in the range of '{query.title}' are not computed again, and {' and '.join(sources)} may no "
        "longer have their records"
    )
    remedy = (
        "choose a range whose records are still there, or, if only the SQL changes these rows, replace them "
        "with --accept-fewer-rows"
    )
    return MillstreamError(Diagnostic("MS642", message, None, remedy))
