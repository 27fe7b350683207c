"""Deploys another version of a project to its run.

Models that are rebuilt have left the queries that they shared with others (`splitting`).

1. Rebuilt queries catch up alongside the running ones, in tables of their own, and send nothing.
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
from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.checkpoints import pending_swap
from millstream.deploy.checkpoints.applied import Applied
from millstream.deploy.checkpoints.deployed import deployed_at, write_manifest
from millstream.deploy.checkpoints.files import last_done, read_up_to
from millstream.deploy.checkpoints.joined_swap import JoinedSwap
from millstream.deploy.checkpoints.splitting import split
from millstream.deploy.checkpoints.swap import swap_together
from millstream.deploy.engine import Engine, record_environment
from millstream.deploy.handover.alongside import Alongside
from millstream.deploy.handover.changes import changed_queries, check_chains
from millstream.deploy.handover.taking_over import NEXT_BATCH, halted, take_over
from millstream.deploy.handover.values import Finished
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.planning.definitions import running_catalog
from millstream.deploy.planning.query_splits import stored_models, without_removed
from millstream.deploy.planning.stages import Backfill, Compare, Stage, Start, chain, rebuilt
from millstream.deploy.stages.apply import end_apply
from millstream.deploy.stages.backfill import backfill
from millstream.deploy.stages.execute import begin, lock_after, planned
from millstream.deploy.stages.prepare import check_record
from millstream.deploy.values import Applying
from millstream.engine.queries.gate import Gate
from millstream.queries.values import Query
from millstream.sources.positions import Positions, latest, stored

PATIENCE = 120.0
"""Seconds that new versions have to read what the running ones had read when they stopped."""

GoOn = Callable[[], None]
"""Raises an error if the apply must not continue."""


def deploy(live: LiveQueries, running: Engine, go_on: GoOn) -> Finished:
    """Replace the running version of a project by another one, which is loaded."""
    queries = list(running.job.physical.queries)
    stages = planned(running, queries, [query.name for query in live.queries])
    check_chains(queries, stages)
    _check_records(running, queries, stages)
    changed = changed_queries(live.running, running, live.queries, stages)
    applied = begin(running, queries, stages)
    names = rebuilt(stages)
    with _alongside(live, running, queries, stages, applied, go_on) as alongside:
        if names:
            running.tell(Applying("rebuilding", names))
        for version in alongside:
            version.catch_up()
        if names:
            running.tell(Applying("caught_up", names))
        joining = _backfilled(running, queries, stages)
        go_on()
        live.await_batch(names, NEXT_BATCH)
        with halted(live, changed) as stopped:
            positions = {supervised.query.name: supervised.position() for supervised in stopped}
            for version in alongside:
                version.reach(latest(_before(version.query, positions, running)), PATIENCE)
            for version in alongside:
                version.stop()
            for version in alongside:
                _write_down(running, version)
            _record_joining(running, joining)
            go_on()

            def swap() -> None:
                _let_removed_leave(running)
                lock = lock_after(running, _names(queries), names)
                if names:
                    joined = JoinedSwap(names, lock, stay=True)
                    swap_together(running.files, running.tables, running.held, running.checkpoints, joined)
                    end_apply(running)
                else:
                    checkpoints.write_lock(running.files, running.checkpoints, lock)
                record_environment(running.job, running.files, running.checkpoints)
                write_manifest(running.files, running.checkpoints, running.job.manifest)

            finished = take_over(live, running, stopped, swap)
            running.tell(Applying("replaced", finished.replaced))
            return finished


def _let_removed_leave(running: Engine) -> None:
    """Let queries with state continue without models that no longer exist."""
    deployed = deployed_at(running.files, running.checkpoints)
    old = running_catalog(deployed.records.values())
    if old is not None:
        after = without_removed(deployed, old, stored_models(running.job.catalog))
        split(running.files, running.checkpoints, deployed, after, ())


def _names(queries: Sequence[Query]) -> list[str]:
    return [query.name for query in queries]


def _check_records(running: Engine, queries: Sequence[Query], stages: Sequence[Stage]) -> None:
    starting = {stage.query for stage in stages if isinstance(stage, Start)}
    problems: list[Diagnostic] = []
    for query in queries:
        if query.name in starting:
            try:
                check_record(running, query, running.record(query))
            except MillstreamError as error:
                problems += error.diagnostics
    if problems:
        raise MillstreamError(*problems)


@contextmanager
def _alongside(
    live: LiveQueries,
    running: Engine,
    queries: Sequence[Query],
    stages: Sequence[Stage],
    applied: Applied | None,
    go_on: GoOn,
) -> Iterator[list[Alongside]]:
    """Start the new versions of rebuilt queries; stop those that have not stopped in the end."""
    versions: list[Alongside] = []
    turn = Gate(running.turn())  # one new version runs a batch at a time: its batches are long
    try:
        for query in queries:
            if query.name in rebuilt(stages):
                assert applied is not None
                compare = next((s for s in chain(stages, query.name) if isinstance(s, Compare)), None)
                versions.append(Alongside(running, live, query, compare, applied, turn, go_on))
        yield versions
    finally:
        for version in versions:
            version.abandon()


def _before(query: Query, positions: dict[str, Positions], running: Engine) -> list[Positions]:
    """Return where the running queries stopped that stored the models of a rebuilt one."""
    stored = set(query.stored)
    before = []
    for name, position in positions.items():
        record = checkpoints.read_record(
            running.files, checkpoints.checkpoint_folder(running.checkpoints, name)
        )
        if name == query.name or (record is not None and stored.intersection(record.stored)):
            before.append(position)
    return before


def _write_down(running: Engine, alongside: Alongside) -> None:
    """Record which of the held records are sent, and where new ones begin in topics that are appended."""
    checkpoint, query = running.checkpoint(alongside.query), alongside.query
    pending = pending_swap.read(running.files, checkpoint)
    assert pending is not None
    sent = [sink.topic for sink in query.sinks]
    began = running.kafka.held(sent) if query.output_mode == "append" else {}
    record = replace(pending.record, began=began)
    pending_swap.write(running.files, checkpoint, replace(pending, record=record, bounds=alongside.bounds()))


Joining = dict[str, tuple[Query, dict[str, dict[str, Any]]]]
"""By name of a query: the stored positions up to which its joining models were backfilled."""


def _backfilled(running: Engine, queries: Sequence[Query], stages: Sequence[Stage]) -> Joining:
    """Backfill models that join a running query, so that little is left to read when they join."""
    named = {query.name: query for query in queries}
    joining: Joining = {}
    for stage in stages:
        if not isinstance(stage, Backfill):
            continue
        query = named[stage.query]
        record = running.record(query)
        assert record is not None
        spark = running.checkpoint(query).spark(record)
        done = last_done(running.files, spark)
        ends = None if done is None else read_up_to(running.files, spark, done, query.streams)
        if done is None or ends is None or query.signature.stateful:
            continue
        new = [
            table.model
            for table in query.tables
            if table.model in stage.models
            and running.tables.create(table, changes=table.model in running.streamed)
        ]
        result = backfill(running, query, record, stage.models, new, done)
        if result.failed:
            raise MillstreamError(*result.failed.values())
        joining[query.name] = query, dict.fromkeys(stage.models, stored(ends))
    return joining


def _record_joining(running: Engine, joining: Joining) -> None:
    for query, starts in joining.values():
        record = running.record(query)
        assert record is not None
        left_out = record.left_out | starts
        checkpoints.write_record(running.files, running.checkpoint(query), replace(record, left_out=left_out))
