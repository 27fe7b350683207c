"""Executes the stages of a job before its first query and after its last one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.checkpoints.applied import Applied
from millstream.deploy.checkpoints.deployed import deployed_at, never_started
from millstream.deploy.checkpoints.joined_swap import JoinedSwap
from millstream.deploy.checkpoints.swap import swap_together
from millstream.deploy.engine import Engine
from millstream.deploy.planning.intents import resuming
from millstream.deploy.planning.records import Deployed, Record
from millstream.deploy.planning.stages import KeepPrevious, Reset, Stage, Swap, stages
from millstream.deploy.stages.apply import begin_apply, end_apply
from millstream.deploy.stages.no_longer_built import drop_no_longer_built
from millstream.deploy.stages.prepare import reset
from millstream.queries.lock import Lock
from millstream.queries.values import Query


def planned(running: Engine, queries: Sequence[Query], started: Collection[str] = ()) -> tuple[Stage, ...]:
    """Return the stages of queries; some have `started` just now, although no batch may be planned."""
    job = running.job
    joins = running.sharing is not None and running.sharing.others
    if not started and not joins:
        drop_no_longer_built(running)
    deployed = deployed_at(running.files, running.checkpoints)
    deployed = replace(deployed, never_started=deployed.never_started.difference(started))
    return stages(queries, deployed, job.intent, job.physical.queries, job.physical.lock, job.misfits)


def resumed(running: Engine, query: Query) -> tuple[Stage, ...]:
    """Return the stages of a query that is restarted."""
    record = running.record(query)
    records = {} if record is None else {query.name: record}
    deployed = Deployed(records, never_started=never_started(running.files, running.checkpoints, records))
    return stages([query], deployed, resuming(running.job.intent), running.job.physical.queries)


def begin(running: Engine, queries: Sequence[Query], planned_stages: Sequence[Stage]) -> Applied | None:
    """Execute the stages before the first query."""
    applied = None
    named = {query.name: query for query in queries}
    for stage in planned_stages:
        match stage:
            case Reset(query=name):
                reset(running, named[name])
            case KeepPrevious():
                applied = begin_apply(running, stage)
    return applied


def end(
    running: Engine, planned_stages: Sequence[Stage], started: Collection[str], *, succeeded: bool
) -> None:
    """Execute the stages after the last query; `succeeded` if no query failed."""
    swaps = [stage for stage in planned_stages if isinstance(stage, Swap)]
    joined = [JoinedSwap(swap.queries, swap.lock) for swap in swaps if swap.lock is not None]
    if not joined:
        update_lock(running, started)
    elif succeeded:
        swap_together(running.files, running.tables, running.held, running.checkpoints, joined[0])
    if succeeded and any(isinstance(stage, KeepPrevious) for stage in planned_stages):
        end_apply(running)


def _has_former(record: Record | None) -> bool:
    return record is not None and bool(record.former)


def lock_after(running: Engine, started: Collection[str], swapped: Collection[str] = ()) -> Lock:
    """Return the groups that have state once these queries have started, and some are `swapped`."""
    before = checkpoints.read_lock(running.files, running.checkpoints) or Lock()
    names = {*started, *(group.name for group in before.groups)}
    records = checkpoints.records_in(running.files, running.checkpoints)
    return Lock(
        tuple(
            # Until a rebuild is swapped, the checkpoint has the states of former models.
            (before.group(group.name) or group)
            if group.name not in swapped and _has_former(records.get(group.name))
            else group
            for group in running.job.physical.lock.groups
            if group.name in names
        )
    )


def update_lock(running: Engine, started: Collection[str]) -> None:
    now = lock_after(running, started)
    if now != (checkpoints.read_lock(running.files, running.checkpoints) or Lock()):
        checkpoints.write_lock(running.files, running.checkpoints, now)
