"""Executes the stages of a query before it starts: opens its checkpoint and backfills joining models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.checkpoints import retained_version
from millstream.deploy.checkpoints.applied import LastApply
from millstream.deploy.checkpoints.files import records_in
from millstream.deploy.checkpoints.swap import forget_rebuild
from millstream.deploy.engine import Engine
from millstream.deploy.planning.definitions import is_same
from millstream.deploy.planning.records import (
    LeftTable,
    Offsets,
    QueryRecord,
    new_record,
    older_rows,
    taken_over_tables,
)
from millstream.deploy.planning.stages import (
    Backfill,
    Compare,
    Continue,
    Create,
    Rebuild,
    Refuse,
    Stage,
    Start,
)
from millstream.deploy.stages.backfill import backfill_models
from millstream.deploy.stages.compare import with_comparison
from millstream.deploy.stages.failed_models import leave_out, missing_from
from millstream.deploy.stages.missing_dead_letters import with_dead_letters
from millstream.deploy.stages.rebuild import begin_rebuild
from millstream.deploy.stages.skipped_rows import without_earlier_rows
from millstream.deploy.values import LeftOut
from millstream.engine.queries.start import QueryContext
from millstream.queries.commands import APPLY, full_refresh
from millstream.queries.values import Query, QuerySignature, TableOutput
from millstream.queries.verdict import match_copies
from millstream.sources.positions import covers, from_stored, stored
from millstream.sources.topic.positions import offsets_in


class OpenedCheckpoint(Struct, frozen=True):
    """The checkpoint that a query continues from, and its tables."""

    record: QueryRecord | None
    """None if the query is new."""
    ids: dict[str, str]
    created: frozenset[NodeId]
    backfilled: dict[NodeId, dict[NodeId, int]] = {}
    """How many records each model read again."""
    failed: dict[NodeId, Diagnostic] = {}


def prepare_query(
    engine: Engine,
    query: Query,
    chain: Iterable[Stage],
    left_out: Collection[NodeId] = (),
    applied: LastApply | None = None,
) -> tuple[Query, QueryContext]:
    """Execute the stages before a query reads; return the query to start, and its context.

    The query is without models in `left_out`, and without models whose backfill fails.
    """
    ready: tuple[Query, QueryContext] | None = None
    opened: OpenedCheckpoint | None = None
    for stage in chain:
        match stage, ready, opened:
            case Refuse(diagnostic=diagnostic), _, _:
                raise MillstreamError(diagnostic)
            case ((Create() | Continue()), _, _):
                opened = open_checkpoint(engine, query)
            case Backfill(models=models), _, OpenedCheckpoint():
                joining = [model for model in models if model not in left_out]
                opened = _backfilled(engine, query, opened, joining)
            case Start(), _, OpenedCheckpoint():
                ready = _ready(engine, query, opened, left_out)
            case Rebuild(), _, _:
                prepared, context = begin_rebuild(engine, query, applied.id if applied else "")
                ready = prepared, without_earlier_rows(engine, query, prepared, context)
            case Compare(), (prepared, context), _:
                replaced = applied.replaced if applied else ()
                ready = prepared, with_comparison(engine, query, prepared, context, stage, replaced)
    assert ready is not None, f"nothing starts {query.name}"
    return ready


def open_checkpoint(engine: Engine, query: Query) -> OpenedCheckpoint:
    """Refuse a checkpoint whose topics were recreated; create missing tables."""
    record, ids = engine.record(query), engine.ids(query)
    check_record(engine, query, record)
    if record and (recreated := [topic for topic, id_ in ids.items() if record.ids.get(topic, id_) != id_]):
        names = ", ".join(f"'{topic}'" for topic in recreated)
        message = f"{query.title}: {names} was deleted and recreated; the saved offsets no longer apply"
        remedy = f"read it from its start: {full_refresh(query.stored)}"
        raise MillstreamError(Diagnostic("MS864", message, None, remedy))
    if record and (gone := _gone_from_patterns(query, record)):
        names = ", ".join(f"'{topic}'" for topic in gone)
        message = (
            f"{query.title}: {names} no longer exists, or no longer matches, and its records were counted"
        )
        remedy = f"compute it from the topics that exist: {full_refresh(query.stored)}"
        raise MillstreamError(Diagnostic("MS864", message, None, remedy))
    if record is not None:
        _check_tables(engine, query, record)
    created = {
        table.model
        for table in query.tables
        # Old files with rows that a request deleted go at a start, if no batch follows.
        if (record is None or not record.describes(table) or table.deletes_on_request)
        and engine.tables.create(table, changes=table.model in engine.streamed)
    }
    return OpenedCheckpoint(record, ids, frozenset(created))


def _gone_from_patterns(query: Query, record: QueryRecord) -> list[str]:
    """Return topics that a query has read, as they matched a pattern; another list is another signature."""
    has_pattern = any(read.pattern for read in query.topic_reads)
    return sorted(record.ids.keys() - {*query.topics_read}) if has_pattern else []


def _check_tables(engine: Engine, query: Query, record: QueryRecord) -> None:
    """Refuse to go on after the rows of a table that is gone: a new one would only get those that follow."""
    tables = [table.model for table in query.tables if table.model in record.tables]
    gone = [model for model in tables if not engine.tables.exists(model)]
    if gone:
        names = " and ".join(f"'{model.name}'" for model in gone)
        message = (
            f"{query.title}: the table {names} no longer exists; the saved offsets are those of its rows"
        )
        remedy = f"compute it from the start: {full_refresh(query.stored)}"
        raise MillstreamError(Diagnostic("MS696", message, None, remedy))


def check_record(engine: Engine, query: Query, record: QueryRecord | None) -> None:
    """Refuse a checkpoint of another project, and tables with rows of another query."""
    project = engine.job.project.settings.name
    if record is not None and record.project != project:
        message = f"the checkpoint of {query.name} belongs to another project, '{record.project}'"
        remedy = f"give '{project}' its own folder: set `checkpoints:` of the target in profiles.yml"
        raise MillstreamError(Diagnostic("MS869", message, None, remedy))
    for table in query.tables:
        if (record is not None and table.model in record.tables) or not engine.tables.has_rows(table):
            continue
        before = taken_over_tables(query, records_in(engine.files, engine.checkpoints)).get(table.model)
        if before is not None:
            name = table.model.name
            owner = f"the table {name} has rows of query {before}"
            remedy = f"rebuild it alongside the running version, then swap: {APPLY}"
            if table.appends:
                remedy += "; or give models that were added a query of their own: config(group='added')"
                remedy += f"; or leave {name} as it was, and select the new rows in a table of another name"
            message = f"{owner}; {query.name} would not replace all of them"
            raise MillstreamError(Diagnostic("MS870", message, None, remedy))


def _backfilled(
    engine: Engine, query: Query, opened: OpenedCheckpoint, models: Sequence[NodeId]
) -> OpenedCheckpoint:
    if opened.record is None or not models:
        return opened
    backfilled = backfill_models(engine, query, opened.record, models, opened.created)
    return replace(opened, backfilled=backfilled.read, failed=backfilled.failed)


def _ready(
    engine: Engine, query: Query, opened: OpenedCheckpoint, left_out: Collection[NodeId]
) -> tuple[Query, QueryContext]:
    failed = opened.failed
    out = [model for model in query.stored if model in left_out or model in failed]
    if failed and len(out) == len(query.stored):
        raise MillstreamError(*failed.values())
    for model, diagnostic in failed.items():
        engine.tell(LeftOut(query.name, model, diagnostic))
    record = _write_new_record(engine, query, opened, out)
    prepared = leave_out(engine, query, out)
    new = opened.created if opened.record is None else frozenset[NodeId]()
    context = engine.context(prepared, record, engine.checkpoint(query), new)
    context = with_dead_letters(engine, prepared, record, context)
    return prepared, replace(context, backfilled=opened.backfilled, left_out=failed)


def _write_new_record(
    engine: Engine, query: Query, opened: OpenedCheckpoint, out: Collection[NodeId]
) -> QueryRecord:
    before = opened.record
    outputs = {model: topic for model, topic in query.stored.items() if model not in out}
    project, definition = engine.job.project.settings.name, engine.definition(outputs)
    new = new_record(project, query, opened.ids, definition)
    new = replace(new, outputs=outputs, left_out=missing_from(before, out))
    if before is None:
        sent = any(any(ends.values()) for ends in engine.kafka.held(query.topics).values())
        new = replace(new, tombstones="first" if sent else "needed", histories=engine.histories(query))
    if before is not None:
        has_rows = checkpoints.last_done(engine.files, engine.checkpoint(query).spark(before)) is not None
        defined_before = is_same(before.definition, new.definition)
        unchanged = before.signature.stored == new.signature.stored and before.outputs == outputs
        new = replace(
            before,
            signature=_continued(before.signature, new.signature),
            models=new.models,
            tables=new.tables,
            layouts=new.layouts,
            gone=tuple(sorted({*before.gone, *before.tables} - new.tables.keys())),
            outputs=outputs,
            left_out=new.left_out,
            left=_left(engine, query, before, out),
            joining={},
            older=older_rows(before, new) if has_rows else {},
            sent=_unread(engine, query, before),
            sent_before=_unread_sources(engine, query, before),
            ids=before.ids | opened.ids,
            tombstones=before.tombstones if unchanged else "all",
            definition=before.definition if defined_before else new.definition,
            defined=before.defined if defined_before else new.defined,
            reread=before.reread
            | {model: new.created for model in opened.backfilled if model not in before.left_out},
        )
    if new != before:
        checkpoints.write_record(engine.files, engine.checkpoint(query), new)
    return new


def _left(
    engine: Engine, query: Query, record: QueryRecord, out: Collection[NodeId]
) -> dict[NodeId, LeftTable]:
    """Return the append-only tables that a query no longer writes, with those that it leaves now."""
    remaining = {table.model for table in query.tables if table.model not in out}
    left = {model: table for model, table in record.left.items() if model not in remaining}
    leaving = [
        output
        for output in record.signature.stored
        if output.model in record.tables and output.model not in remaining and not output.keys
    ]
    spark = engine.checkpoint(query).spark(record)
    done = checkpoints.last_done(engine.files, spark) if leaving else None
    if done is None or done != checkpoints.last_begun(engine.files, spark):
        return left  # rows of a batch that did not complete may be stored
    read = checkpoints.read_up_to(engine.files, spark, done, query.streams)
    for output in leaving if read is not None and not query.signature.stateful else ():
        table = TableOutput(output.model, columns=record.tables[output.model])
        if output.model not in record.left_out and engine.tables.exists(output.model):
            rows = engine.tables.rows(engine.spark, table).count()
            left[output.model] = LeftTable(output, stored(read or {}), rows)
    return left


def _continued(before: QuerySignature, new: QuerySignature) -> QuerySignature:
    """Return the signature of a query that goes on: what its state has copies of stays as it began."""
    return new if match_copies(before, new) is None else replace(new, copies=before.copies)


def _unread(engine: Engine, query: Query, record: QueryRecord) -> dict[str, dict[str, Offsets]]:
    """Return up to where another version has sent records, without topics that were read further since."""
    if not record.sent:
        return {}
    read = offsets_in(checkpoints.read_so_far(engine.files, engine.checkpoint(query).spark(record)))
    return {
        topic: starts
        for topic, starts in record.sent.items()
        if any(
            offset > read.get(sent_topic, {}).get(n, 0)
            for sent_topic, numbers in starts.items()
            for n, offset in numbers.items()
        )
    }


def _unread_sources(engine: Engine, query: Query, record: QueryRecord) -> dict[str, Any]:
    """Return the same for sources other than topics."""
    if not record.sent_before:
        return {}
    read = checkpoints.read_so_far(engine.files, engine.checkpoint(query).spark(record), query.streams)
    sent = from_stored(record.sent_before)
    return stored({stream: end for stream, end in sent.items() if not covers(read, {stream: end})})


def reset_query(engine: Engine, query: Query) -> None:
    """Remove a query's checkpoint and tables, and the checkpoints of queries that read changes of the tables.

    These have positions in the logs of the tables, which the next ones of the same names don't have. A query
    that starts again computes what it stores from all rows of its inputs.
    """
    _forget(engine, query)
    for table in query.tables:
        engine.tables.drop(table)
    dropped = {table.model for table in query.tables}
    readers = [
        reader
        for reader in engine.job.physical.queries
        if reader.name != query.name and any(read.relation in dropped for read in reader.table_reads)
    ]
    for reader in readers:
        _forget(engine, reader)


def _forget(engine: Engine, query: Query) -> None:
    checkpoint = engine.checkpoint(query)
    forget_rebuild(engine.files, engine.tables, checkpoint)
    retained_version.forget_retained(engine.files, engine.tables, checkpoint)
    engine.files.remove(checkpoint.folder)
