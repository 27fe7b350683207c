"""Deploys another version of a project to its run.

Models that are rebuilt have left the queries that they shared with others (`splitting`).

1. Rebuilt queries catch up alongside the running ones, into separate tables, and send nothing.
2. Queries that change stop between two batches. Rebuilt ones read as far, and stop.
3. The swap is recorded: from now on, the next command or run completes it.
4. Tables are swapped, held records are sent, and the queries of the new version start.

Whatever fails before the third step leaves the running version as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.checkpoints import pending_swap
from millstream.deploy.checkpoints.applied import LastApply
from millstream.deploy.checkpoints.deployed import deployed_at, write_manifest
from millstream.deploy.checkpoints.files import last_done, read_up_to
from millstream.deploy.checkpoints.joined_swap import JoinedSwap
from millstream.deploy.checkpoints.splitting import apply_splits
from millstream.deploy.checkpoints.swap import swap_together
from millstream.deploy.engine import Engine, record_environment
from millstream.deploy.handover.catch_up_version import CatchUpVersion
from millstream.deploy.handover.changes import changed_queries, check_rebuilds
from millstream.deploy.handover.query_exchange import NEXT_BATCH, halt_queries, take_over
from millstream.deploy.handover.values import DeployFinished
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.planning.definitions import running_catalog
from millstream.deploy.planning.query_selection import choose_queries
from millstream.deploy.planning.query_splits import stored_models, without_removed
from millstream.deploy.planning.stages import (
    Backfill,
    Compare,
    Stage,
    Start,
    rebuilt_queries,
    stages_of_query,
)
from millstream.deploy.stages.apply import end_apply
from millstream.deploy.stages.backfill import backfill_models
from millstream.deploy.stages.execute import begin_stages, lock_after, stages_of_queries
from millstream.deploy.stages.prepare import check_record
from millstream.deploy.values import ApplyStep
from millstream.engine.queries.gate import BatchGate
from millstream.queries.values import Query
from millstream.sources.positions import Positions, latest, stored

PATIENCE = 120.0
"""Seconds that new versions have to read what the running ones had read when they stopped."""

GoOn = Callable[[], None]
"""Raises an error if the apply must not continue."""


def deploy_version(live: LiveQueries, engine: Engine, go_on: GoOn) -> DeployFinished:
    """Replace the running version of a project by another one, which is loaded."""
    queries = choose_queries(engine.job.physical.queries, engine.job.models)
    stages = stages_of_queries(engine, queries, [query.name for query in live.queries])
    check_rebuilds(queries, stages)
    _check_records(engine, queries, stages)
    changed = changed_queries(live.running, engine, live.queries, stages)
    applied = begin_stages(engine, queries, stages)
    names = rebuilt_queries(stages)
    with _alongside(live, engine, queries, stages, applied, go_on) as alongside:
        if names:
            engine.tell(ApplyStep("rebuilding", names))
        for version in alongside:
            version.catch_up()
        if names:
            engine.tell(ApplyStep("caught_up", names))
        joining = _backfilled(engine, queries, stages)
        go_on()
        live.await_batch(names, NEXT_BATCH)
        with halt_queries(live, changed) as stopped:
            positions = {supervised.query.name: supervised.position() for supervised in stopped}
            for version in alongside:
                version.reach(latest(_before(version.query, positions, engine)), PATIENCE)
            for version in alongside:
                version.stop()
            for version in alongside:
                _write_down(engine, version)
            _record_joining(engine, joining)
            go_on()

            def swap() -> None:
                _let_removed_leave(engine)
                lock = lock_after(engine, _names(queries), names)
                if names:
                    joined = JoinedSwap(names, lock, stay=True)
                    swap_together(engine.files, engine.tables, engine.held, engine.checkpoints, joined)
                    end_apply(engine)
                else:
                    checkpoints.write_lock(engine.files, engine.checkpoints, lock)
                record_environment(engine.job, engine.files, engine.checkpoints)
                if engine.job.models is None:
                    write_manifest(engine.files, engine.checkpoints, engine.job.manifest)

            finished = take_over(live, engine, stopped, swap)
            engine.tell(ApplyStep("replaced", finished.replaced))
            return finished


def _let_removed_leave(engine: Engine) -> None:
    """Let queries with state continue without models that no longer exist."""
    deployed = deployed_at(engine.files, engine.checkpoints)
    old = running_catalog(deployed.records.values())
    if old is not None:
        after = without_removed(deployed, old, stored_models(engine.job.catalog))
        apply_splits(engine.files, engine.checkpoints, deployed, after, ())


def _names(queries: Sequence[Query]) -> list[str]:
    return [query.name for query in queries]


def _check_records(engine: Engine, queries: Sequence[Query], stages: Sequence[Stage]) -> None:
    starting = {stage.query for stage in stages if isinstance(stage, Start)}
    diagnostics: list[Diagnostic] = []
    for query in queries:
        if query.name in starting:
            try:
                check_record(engine, query, engine.record(query))
            except MillstreamError as error:
                diagnostics += error.diagnostics
    if diagnostics:
        raise MillstreamError(*diagnostics)


@contextmanager
def _alongside(
    live: LiveQueries,
    engine: Engine,
    queries: Sequence[Query],
    stages: Sequence[Stage],
    applied: LastApply | None,
    go_on: GoOn,
) -> Iterator[list[CatchUpVersion]]:
    """Start the new versions of rebuilt queries; stop those that have not stopped in the end."""
    versions: list[CatchUpVersion] = []
    turn = BatchGate(engine.turn())  # one new version runs a batch at a time: its batches are long
    try:
        for query in queries:
            if query.name in rebuilt_queries(stages):
                assert applied is not None
                compare = next(
                    (s for s in stages_of_query(stages, query.name) if isinstance(s, Compare)), None
                )
                versions.append(CatchUpVersion(engine, live, query, compare, applied, turn, go_on))
        yield versions
    finally:
        for version in versions:
            version.abandon()


def _before(query: Query, positions: dict[str, Positions], engine: Engine) -> list[Positions]:
    """Return where the running queries stopped that stored the models of a rebuilt one."""
    stored = set(query.stored)
    before = []
    for name, position in positions.items():
        record = checkpoints.read_record(
            engine.files, checkpoints.checkpoint_folder(engine.checkpoints, name)
        )
        if name == query.name or (record is not None and stored.intersection(record.stored)):
            before.append(position)
    return before


def _write_down(engine: Engine, alongside: CatchUpVersion) -> None:
    """Record what is still to be sent, and where new records begin in topics that are appended."""
    checkpoint, query = engine.checkpoint(alongside.query), alongside.query
    pending = pending_swap.read_pending(engine.files, checkpoint)
    assert pending is not None
    sent = [sink.topic for sink in query.sinks]
    began = engine.kafka.held(sent) if query.output_mode == "append" else {}
    record = replace(pending.record, began=began)
    if alongside.sends_rest:
        record = replace(record, outputs={}, left_out=alongside.starts())
    pending_swap.write_pending(
        engine.files, checkpoint, replace(pending, record=record, bounds=alongside.bounds())
    )


Joining = dict[str, tuple[Query, dict[NodeId, dict[str, Any]]]]
"""By name of a query: the stored positions up to which its joining models were backfilled."""


def _backfilled(engine: Engine, queries: Sequence[Query], stages: Sequence[Stage]) -> Joining:
    """Backfill models that join a running query, so that little is left to read when they join."""
    named = {query.name: query for query in queries}
    joining: Joining = {}
    for stage in stages:
        if not isinstance(stage, Backfill):
            continue
        query = named[stage.query]
        record = engine.record(query)
        assert record is not None
        spark = engine.checkpoint(query).spark(record)
        done = last_done(engine.files, spark)
        ends = None if done is None else read_up_to(engine.files, spark, done, query.streams)
        if done is None or ends is None or query.signature.stateful:
            continue
        new = [
            table.model
            for table in query.tables
            if table.model in stage.models
            and engine.tables.create(table, changes=table.model in engine.streamed)
        ]
        result = backfill_models(engine, query, record, stage.models, new, done)
        if result.failed:
            raise MillstreamError(*result.failed.values())
        joining[query.name] = query, dict.fromkeys(stage.models, stored(ends))
    return joining


def _record_joining(engine: Engine, joining: Joining) -> None:
    for query, starts in joining.values():
        record = engine.record(query)
        assert record is not None
        left_out = record.left_out | starts
        checkpoints.write_record(engine.files, engine.checkpoint(query), replace(record, left_out=left_out))
