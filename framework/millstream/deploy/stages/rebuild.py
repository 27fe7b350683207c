"""Rebuilds a query from the start of its sources alongside the running version; a swap then replaces that.

Meanwhile its tables stay unchanged: new rows go to tables of another name. Records are sent immediately.
A rebuild that is killed before the swap (`swapping`) continues the next time that it is requested.
"""

from __future__ import annotations

from hashlib import blake2b

from msgspec.structs import replace

from millstream.core.encoding import to_json
from millstream.deploy.checkpoints import pending_swap
from millstream.deploy.checkpoints.pending_swap import PendingSwap
from millstream.deploy.checkpoints.swap import begin_swap, forget_rebuild, settle_swap
from millstream.deploy.engine import Engine
from millstream.deploy.planning.records import new_record
from millstream.deploy.stages.missing_dead_letters import with_dead_letters
from millstream.engine.queries.record_sizes import record_sizes
from millstream.engine.queries.start import QueryContext
from millstream.kafka.clients import admin_of
from millstream.queries.values import PerBatch, Query


def begin_rebuild(
    engine: Engine, query: Query, apply: str = "", *, held: bool = False
) -> tuple[Query, QueryContext]:
    """Return the query to run until the swap, and its context; with `apply`, the old version is retained.

    If records are `held` back, the query sends nothing until the swap, since the running version continues.
    """
    checkpoint = engine.checkpoint(query)
    project, definition = engine.job.project.settings.name, engine.definition(query.stored)
    new = new_record(project, query, engine.ids(query), definition)
    pending = pending_swap.read_pending(engine.files, checkpoint)
    digest = _digest(engine, query)
    if pending is None or (pending.digest, pending.apply, pending.held) != (digest, apply, held):
        forget_rebuild(engine.files, engine.tables, checkpoint)
        sent = [sink.topic for sink in query.sinks]
        # The new records of an appending query begin at the ends of its topics.
        began = engine.kafka.held(sent) if query.output_mode == "append" else {}
        record = replace(
            new,
            folder=f"spark-{new.id}",
            began=began,
            tombstones="first",
            histories=engine.histories(query),
        )
        streamed = tuple(sorted(engine.streamed.intersection(record.tables)))
        upserts = held and query.output_mode == "update" and not query.sends_changes
        pending = PendingSwap(record, digest, query.tables, streamed, apply=apply, held=held, upserts=upserts)
        sizes = record_sizes(admin_of(engine.kafka.cluster), query) if held else None
        option = "" if sizes is None else sizes.option
        pending = replace(pending, exactly_once=held and query.exactly_once, sizes=option)
        pending_swap.write_pending(engine.files, checkpoint, pending)
    rebuilt = _to_new_tables(query, pending)
    created = {table.model for table in rebuilt.tables if engine.tables.create(table, changes=False)}
    context = engine.context(rebuilt, pending.record, checkpoint, frozenset(created), sends=not held)
    return rebuilt, context if held else with_dead_letters(engine, rebuilt, pending.record, context)


def swap_rebuilt(engine: Engine, query: Query) -> None:
    checkpoint = engine.checkpoint(query)
    if (pending := pending_swap.read_pending(engine.files, checkpoint)) is not None and not pending.swapping:
        # It has read what the replaced version had read, and sent a tombstone for what no longer matches.
        complete = replace(pending, record=replace(pending.record, tombstones="needed"))
        pending_swap.write_pending(engine.files, checkpoint, complete)
    begin_swap(engine.files, checkpoint)
    settle_swap(engine.files, engine.tables, engine.held, checkpoint)


def _digest(engine: Engine, query: Query) -> str:
    """Return a digest of everything that a query does: after an edit, half a rebuild is useless."""
    functions = [engine.job.catalog.functions[name].digest for name in query.functions]
    return blake2b(to_json((query, functions)), digest_size=12).hexdigest()


def _to_new_tables(query: Query, pending: PendingSwap) -> Query:
    """Return a query that stores its rows in the tables of a pending swap."""
    if not isinstance(query.deliver, PerBatch):
        return query
    deliveries = tuple(
        replace(delivery, target=pending.new_version(table)) if (table := delivery.table) else delivery
        for delivery in query.deliver.deliveries
    )
    maintaining = query.maintaining
    if maintaining is not None:
        maintaining = replace(maintaining, target=pending.new_version(maintaining.target))
    return replace(query, deliver=replace(query.deliver, deliveries=deliveries), maintaining=maintaining)
