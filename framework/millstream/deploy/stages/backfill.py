"""Runs a model that joins a query over the records that the query has read before; then it joins.

The query's record names the model only afterwards. A backfill that is killed starts again; repeated records
are recognised by their headers, as always. Meanwhile nothing changes the query's checkpoint.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.engine import Engine
from millstream.deploy.planning.records import BegunBackfill, QueryRecord
from millstream.deploy.values import DiagnosticEvent, SetupStep
from millstream.engine.queries.histories import HistoryReads
from millstream.engine.queries.start import run_once
from millstream.queries.commands import full_refresh
from millstream.queries.topology import alone_of
from millstream.queries.values import PerBatch, Query, TableOutput
from millstream.sources.positions import Range, amount_text, from_stored, records_by_relation


class BackfillResult(Struct, frozen=True):
    """The result of a backfill."""

    failed: dict[NodeId, Diagnostic] = {}
    """Models that fail, with their errors."""
    read: dict[NodeId, dict[NodeId, int]] = {}
    """How many records of each source or model were read, by model."""


def backfill_models(
    engine: Engine,
    query: Query,
    record: QueryRecord,
    models: Collection[NodeId],
    new: Iterable[NodeId],
    batch: int | None = None,
) -> BackfillResult:
    """Run models over what their query has read; `new` are tables that are still empty.

    By default, that is up to its last completed batch; a query that continues has completed a `batch`.
    """
    spark = engine.checkpoint(query).spark(record)
    batch = checkpoints.last_done(engine.files, spark) if batch is None else batch
    if batch is None:
        return BackfillResult()
    read = (
        None
        if query.signature.stateful
        else checkpoints.read_up_to(engine.files, spark, batch, query.streams)
    )
    if read is None:
        for model in models:
            engine.tell(DiagnosticEvent(_late(query, model)))
        return BackfillResult()
    try:
        # The topic may no longer have what the query read of it, and the history has it meanwhile.
        record = replace(record, histories=engine.histories(query))
    except MillstreamError as error:
        return BackfillResult(dict.fromkeys(models, error.diagnostics[0]))
    failed: dict[NodeId, Diagnostic] = {}
    read_again: dict[NodeId, dict[NodeId, int]] = {}
    for table in query.tables:
        joins = table.model in models and table.model not in new and not record.left_out.get(table.model)
        if not (joins and table.appends and engine.tables.has_rows(table)):
            continue
        if (starts := _since_it_left(engine, query, record, table)) is None:
            failed[table.model] = _stored_before(query, table.model)
        else:
            record = replace(record, left_out=record.left_out | {table.model: starts})
    for group, starts in _by_start(record, [model for model in models if model not in failed]):
        ranges = engine.ranges(query, from_stored(starts), read, record.histories)
        if ranges and not any(part.amount > 0 for part in ranges.values()):
            continue
        # Models that failed in a batch have sent some of its records.
        sent_as = record.header(batch) if starts else ""
        failed |= _run(engine, query, record, group, ranges, frozenset(new), sent_as, unread=not starts)
        counts = records_by_relation(query.relations, ranges)
        read_again |= {model: counts for model in group if model not in failed}
    return BackfillResult(failed, read_again)


def _since_it_left(
    engine: Engine, query: Query, record: QueryRecord, table: TableOutput
) -> dict[str, Any] | None:
    """Return from where an append-only table has no rows that returns to its query; None if unknown."""
    left, begun = record.left.get(table.model), record.joining.get(table.model)
    output = next((output for output in query.signature.stored if output.model == table.model), None)
    if left is None or left.output != output:
        return {} if begun is not None and begun.rows == 0 else None
    rows = engine.tables.rows(engine.spark, table).count() if begun is None else begun.rows
    return left.read if rows == left.rows else None


def _begin(engine: Engine, query: Query, tables: Sequence[TableOutput], digest: str) -> str | None:
    """Record that a backfill of append-only tables begins, and return the id of its rows.

    It is that of an interrupted one which read the same. None: another one may have stored its rows.
    """
    record = engine.record(query)
    assert record is not None, f"{query.name} has run"
    rows = {table.model: engine.tables.rows(engine.spark, table).count() for table in tables}
    before = {model: record.joining[model] for model in rows if model in record.joining}
    stored = [begun for model, begun in before.items() if begun.rows != rows[model]]
    if any(begun.digest != digest or begun.id != stored[0].id for begun in stored):
        return None
    if stored:
        return stored[0].id
    id_ = uuid.uuid4().hex[:12]
    joining = {model: BegunBackfill(digest, id_, number) for model, number in rows.items()}
    record = replace(record, joining=record.joining | joining)
    checkpoints.write_record(engine.files, engine.checkpoint(query), record)
    return id_


def _stored_before(query: Query, model: NodeId) -> Diagnostic:
    name = model.name
    message = f"the table {name} has rows, and {query.name} would store what it has read a second time"
    remedy = (
        f"compute it from the start: {full_refresh([model])}; or select the rows in a table of another name"
    )
    return Diagnostic("MS870", message, None, remedy)


def _by_start(record: QueryRecord, models: Iterable[NodeId]) -> list[tuple[list[NodeId], dict[str, Any]]]:
    """Group models that begin at the same positions."""
    groups: list[tuple[list[NodeId], dict[str, Any]]] = []
    for model in models:
        starts = record.left_out.get(model, {})
        group = next((names for names, those in groups if those == starts), None)
        if group is None:
            groups.append(([model], starts))
        else:
            group.append(model)
    return groups


def _run(
    engine: Engine,
    query: Query,
    record: QueryRecord,
    models: Sequence[NodeId],
    ranges: dict[str, Range],
    new: frozenset[NodeId],
    sent_as: str,
    *,
    unread: bool,
) -> dict[NodeId, Diagnostic]:
    """Run models together; if that fails, run each on its own."""
    names = ", ".join(model.name for model in models)
    stage = f"backfill of {names}"
    engine.tell(SetupStep(stage))
    alone = alone_of(engine.job.topology, query.name, models, engine.job.physical.lock)
    digest, identity = _digest(alone, ranges), f"{alone.name}/{record.id}"
    # A table that was dropped meanwhile must not skip the rows; merging them twice gives the same rows.
    once: str | None = uuid.uuid4().hex[:12] if isinstance(alone.deliver, PerBatch) else digest
    if appended := [table for table in alone.tables if table.appends]:
        once = _begin(engine, query, appended, digest)
    if once is None:
        engine.tell(SetupStep(stage, done=True))
        return {model: _stored_before(query, model) for model in models}
    context = engine.context_of(alone, f"{identity}.{once}", new, key=f"{identity}.{digest}", alone=True)
    context = engine.with_histories(alone, context, HistoryReads(record.histories, unread=unread))
    if sent_as:
        context = replace(context, stores=replace(context.stores, sent_as=lambda _: sent_as))
    if (sender := context.stores.exactly_once) is not None:
        context = replace(context, stores=replace(context.stores, exactly_once=sender.repeating(0)))
    try:
        run_once(engine.spark, alone, context, ranges)
    except Exception as error:  # noqa: BLE001 -- whatever fails, it is the failure of these models
        engine.tell(SetupStep(stage, done=True))
        if len(models) == 1:
            return {models[0]: engine.diagnostic(alone, error)}
        failed: dict[NodeId, Diagnostic] = {}
        for model in models:
            failed |= _run(engine, query, record, [model], ranges, new, sent_as, unread=unread)
        return failed
    amount = amount_text(ranges) if ranges else "the rows of tables"
    engine.tell(SetupStep(stage, f"{amount} that {query.name} had read before", done=True))
    return {}


def _digest(alone: Query, ranges: dict[str, Range]) -> str:
    """Return what the records of a backfill are recognised by, if it is repeated."""
    parts = [f"{stream}-{text}" for stream, part in ranges.items() for text in part.end.parts()]
    return blake2b("\n".join([*map(str, alone.models), *parts]).encode(), digest_size=6).hexdigest()


def _late(query: Query, model: NodeId) -> Diagnostic:
    name = model.name
    message = f"'{name}' is new in query {query.name} and only gets records from now on"
    remedy = (
        f"to include earlier records: {full_refresh([model])}; it also repeats the records of the other "
        "models of the query"
    )
    return Diagnostic("MS876", message, None, remedy, severity="warning")
