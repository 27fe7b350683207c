"""The stages of a job on its target: what comes before its first query, and after its last one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from millstream.deployment.intents import resuming
from millstream.deployment.records import Deployed
from millstream.deployment.stages import KeepPrevious, Reset, Stage, Swap, stages
from millstream.physical.lock import Lock
from millstream.physical.values import Query
from millstream.runner.checkpoints import files as checkpoints
from millstream.runner.checkpoints.deployed import deployed_at, unread
from millstream.runner.checkpoints.swap import Together, swap_together
from millstream.runner.deployment.apply import Applied, begin_apply, end_apply
from millstream.runner.deployment.prepare import reset
from millstream.runner.engine import Engine


def planned(running: Engine, queries: Sequence[Query]) -> tuple[Stage, ...]:
    """Return what a job does to queries."""
    job = running.job
    there = deployed_at(running.files, running.checkpoints)
    return stages(queries, there, job.intent, job.physical.queries, job.physical.lock)


def resumed(running: Engine, query: Query) -> tuple[Stage, ...]:
    """Return what a query does that is started again."""
    record = running.record(query)
    records = {} if record is None else {query.name: record}
    there = Deployed(records, unread=unread(running.files, running.checkpoints, records))
    return stages([query], there, resuming(running.job.intent), running.job.physical.queries)


def begin(running: Engine, queries: Sequence[Query], found: Sequence[Stage]) -> Applied | None:
    """Carry out what comes before the first query."""
    applied = None
    named = {query.name: query for query in queries}
    for stage in found:
        match stage:
            case Reset(query=name):
                reset(running, named[name])
            case KeepPrevious():
                applied = begin_apply(running, stage)
    return applied


def end(running: Engine, found: Sequence[Stage], started: Collection[str], *, well: bool) -> None:
    """Carry out what comes after the last query; `well`: none of them failed."""
    together = next((stage for stage in found if isinstance(stage, Swap) and stage.lock is not None), None)
    if together is None:
        keep_lock(running, started)
    elif well and together.lock is not None:
        swapped = Together(together.queries, together.lock)
        swap_together(running.files, running.tables, running.checkpoints, swapped)
    if well and any(isinstance(stage, KeepPrevious) for stage in found):
        end_apply(running)


def keep_lock(running: Engine, started: Collection[str]) -> None:
    """Record the groups that have state now."""
    before = checkpoints.read_lock(running.files, running.checkpoints) or Lock()
    known = {*started, *(group.name for group in before.groups)}
    now = Lock(tuple(group for group in running.job.physical.lock.groups if group.name in known))
    if now != before:
        checkpoints.write_lock(running.files, running.checkpoints, now)
