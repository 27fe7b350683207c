"""Compares a rebuilt version with the running one before the swap, in columns that the edit doesn't touch.

Both must have read the same records. So the first batch of the rebuild ends where the running version is, and
its rows are compared before the next batch begins, and before any record is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from millstream.core.errors import DiagnosticNote, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import has_equality
from millstream.deploy.checkpoints import pending_swap
from millstream.deploy.checkpoints.files import cut_batch, last_begun, last_done, read_up_to
from millstream.deploy.checkpoints.pending_swap import rename_output
from millstream.deploy.engine import Engine
from millstream.deploy.planning.records import QueryRecord
from millstream.deploy.planning.stages import Compare
from millstream.deploy.stages.table_diff import compare_rows
from millstream.deploy.values import TableCompared
from millstream.engine.queries.start import QueryContext, start_query
from millstream.engine.queries.tables import PENDING_SUFFIX, SNAPSHOT_SUFFIX
from millstream.queries.values import ChangesRead, Query, SourceRead, TableOutput, TopicRead
from millstream.sources.positions import Positions, from_stored, stored
from millstream.sources.registry import source_declaration
from millstream.sources.topic.positions import offsets_in


def with_comparison(
    engine: Engine,
    query: Query,
    rebuilt_query: Query,
    context: QueryContext,
    compare: Compare,
    rebuilt: Collection[str],
    snapshot: Callable[[], Positions | str] | None = None,
) -> QueryContext:
    """Return a context that compares the first batch; report the reason if that is impossible.

    If the running version continues, its rows are those of a `snapshot`, which returns how far it had read.
    """
    files = engine.files
    if not (tables := query.tables):
        return context
    record, spark, checkpoint = engine.record(query), context.checkpoint, engine.checkpoint(query)
    if last_done(files, spark) is not None:
        return context  # it was compared, then killed
    pending = pending_swap.read_pending(files, checkpoint)
    assert pending is not None
    ends_or_reason: Positions | str | None = _incomparable(engine, query, record, rebuilt)
    if ends_or_reason is None and snapshot is not None:
        # Half a first batch may be stored: its end stays, and so does the snapshot.
        ends_or_reason = snapshot() if pending.ends is None else from_stored(pending.ends)
    elif ends_or_reason is None and record is not None:
        ends_or_reason = _completed(engine, query, record)
        if pending.ends is not None and from_stored(pending.ends) != ends_or_reason:
            ends_or_reason = "the running version has continued since the rebuild began"
    if isinstance(ends_or_reason, str):
        for table in tables:
            engine.tell(TableCompared(table.model, less=ends_or_reason))
        # Record the decision, so that a later attempt does not cut a completed batch.
        pending_swap.write_pending(files, checkpoint, replace(pending, ends=pending.ends or {}))
        return context
    assert record is not None
    assert ends_or_reason is not None
    if snapshot is not None and not ends_or_reason:
        return context  # it was not compared, then killed
    if pending.ends is None:
        plan_first_batch(engine, rebuilt_query, context)
        if last_begun(files, spark) is None:
            return context  # there are no records
        cut_batch(files, spark, 0, ends_or_reason)
        pending_swap.write_pending(files, checkpoint, replace(pending, ends=stored(ends_or_reason)))

    def check(session: SparkSession, number: int) -> None:
        if number == 0:
            _compare(engine, session, tables, record, compare, SNAPSHOT_SUFFIX if snapshot else "")

    return replace(context, stores=replace(context.stores, check=check))


def _incomparable(
    engine: Engine, query: Query, record: QueryRecord | None, rebuilt: Collection[str]
) -> str | None:
    """Return why the rows of the running version can't be compared; None if they can."""
    if record is None:
        return "another query wrote it before"
    others = {sink.model: q.name for q in engine.job.physical.queries for sink in q.sinks}
    for source in query.sources:
        if isinstance(source, ChangesRead):
            return f"it reads the changes of {_name(source.relation)}, not a topic"
        if isinstance(source, SourceRead) and not source_declaration(source.kind).ends_anywhere:
            return f"no batch can end where it has read {source.title}"
        if isinstance(source, TopicRead) and source.history:
            return f"its first batch is the history of {source.title}"
        if others.get(source.relation) in rebuilt:
            return f"it reads {_name(source.relation)}, which is rebuilt as well"
    if looked_up := [r.relation for r in query.reads if r.relation.kind != "seed"]:
        return f"it looks up {_name(min(looked_up))}, whose rows have changed since then"
    return None


def _completed(engine: Engine, query: Query, record: QueryRecord) -> Positions | str:
    """Return how far the running version has read, or why that is not comparable."""
    old = engine.checkpoint(query).spark(record)
    done = last_done(engine.files, old)
    if done is None or done != last_begun(engine.files, old):
        return WITHIN_BATCH
    return comparable_ends(engine, query, read_up_to(engine.files, old, done, query.streams) or {})


def comparable_ends(engine: Engine, query: Query, ends: Positions) -> Positions | str:
    """Return the positions, or the reason if the topics have other partitions now."""
    held, offsets = engine.kafka.held(query.topics_read), offsets_in(ends)
    if any(offsets.get(topic, {}).keys() != partitions.keys() for topic, partitions in held.items()):
        return "it read other topics or partitions before"
    return ends


WITHIN_BATCH = "the running version was stopped within a batch"


class _PlannedError(Exception):
    """Ends a batch as soon as its offsets are planned."""


class _StopAfterPlanning:
    def __enter__(self) -> None:
        raise _PlannedError

    def __exit__(self, *_: object) -> None:
        """Never called, since entering always raises."""


def plan_first_batch(engine: Engine, rebuilt_query: Query, context: QueryContext) -> None:
    """Let Spark plan the offsets of the first batch without running it."""
    writer = replace(context.stores, turn=_StopAfterPlanning())
    try:
        streaming = start_query(
            engine.spark, rebuilt_query, replace(context, stores=writer), availableNow=True
        )
    except _PlannedError:
        return  # a table over tables begins with a batch of its own
    try:
        streaming.awaitTermination()
    except StreamingQueryException as error:
        if _PlannedError.__name__ not in str(error):
            raise
    finally:
        streaming.stop()


def _compare(
    engine: Engine,
    session: SparkSession,
    tables: Sequence[TableOutput],
    record: QueryRecord,
    compare: Compare,
    suffix: str,
) -> None:
    diagnostics = []
    for table in tables:
        names = _comparable(table, record, compare.untouched)
        if isinstance(names, str):
            engine.tell(TableCompared(table.model, less=names))
            continue
        old = engine.tables.rows(session, rename_output(table, suffix))
        new = engine.tables.rows(session, rename_output(table, PENDING_SUFFIX))
        rows, diagnostic = compare_rows(table, names, old, new)
        if diagnostic is None:
            engine.tell(TableCompared(table.model, tuple(names), rows))
        elif compare.accept_differences:
            engine.tell(TableCompared(table.model, tuple(names), rows, less=diagnostic.message))
        else:
            diagnostics.append(diagnostic)
    if diagnostics:
        first, *others = diagnostics
        notes = (
            note for diagnostic in others for note in (DiagnosticNote(diagnostic.message), *diagnostic.notes)
        )
        raise MillstreamError(replace(first, notes=(*first.notes, *notes)))


def _comparable(
    table: TableOutput, record: QueryRecord, untouched: Mapping[NodeId, Sequence[str]]
) -> list[str] | str:
    """Return the columns to compare besides the keys, or why there are none."""
    before = {column.name: column.type for column in record.tables.get(table.model, ())}
    if not before:
        return "the running version has no such table"
    if table.model not in untouched:
        return "the columns that the edit touches are unknown"
    same = set(untouched[table.model])
    if not same or not same.issuperset(table.keys):
        return "the edit changes which rows exist"
    types = {column.name: column.type for column in table.columns}
    return [
        name
        for name, type_ in types.items()
        if name in same and name not in table.keys and before.get(name) == type_ and has_equality(type_)
    ]


def _name(id_: NodeId) -> str:
    return id_.name
