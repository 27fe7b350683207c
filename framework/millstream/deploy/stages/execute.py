"""Executes the stages of a job before its first query and after its last one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.checkpoints.applied import LastApply
from millstream.deploy.checkpoints.deployed import deployed_at, never_started
from millstream.deploy.checkpoints.files import checkpoint_folder, records_in
from millstream.deploy.checkpoints.joined_swap import JoinedSwap
from millstream.deploy.checkpoints.swap import swap_together
from millstream.deploy.engine import Engine
from millstream.deploy.planning.intents import resume_intent
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.deploy.planning.stages import KeepPrevious, Reset, Stage, Swap, plan_stages
from millstream.deploy.stages.apply import begin_apply, end_apply
from millstream.deploy.stages.lost_histories import check_reset
from millstream.deploy.stages.prepare import reset_query
from millstream.kafka.clients import admin_of
from millstream.kafka.environment_removal import remove_topics
from millstream.queries.lock import Lock
from millstream.queries.values import Query, TableOutput


def stages_of_queries(
    engine: Engine, queries: Sequence[Query], started: Collection[str] = ()
) -> tuple[Stage, ...]:
    """Return the stages of queries; some have `started` just now, although no batch may be planned."""
    job = engine.job
    joins = engine.sharing is not None and engine.sharing.others
    if not started and not joins:
        drop_no_longer_built(engine)
    deployed = deployed_at(engine.files, engine.checkpoints)
    deployed = replace(deployed, never_started=deployed.never_started.difference(started))
    return plan_stages(queries, deployed, job.intent, job.physical.queries, job.physical.lock, job.misfits)


def stages_of_restart(engine: Engine, query: Query) -> tuple[Stage, ...]:
    """Return the stages of a query that is restarted."""
    record = engine.record(query)
    records = {} if record is None else {query.name: record}
    deployed = Deployed(records, never_started=never_started(engine.files, engine.checkpoints, records))
    return plan_stages([query], deployed, resume_intent(engine.job.intent), engine.job.physical.queries)


def begin_stages(
    engine: Engine, queries: Sequence[Query], planned_stages: Sequence[Stage]
) -> LastApply | None:
    """Execute the stages before the first query."""
    applied = None
    named = {query.name: query for query in queries}
    check_reset(engine, [named[stage.query] for stage in planned_stages if isinstance(stage, Reset)])
    for stage in planned_stages:
        match stage:
            case Reset(query=name):
                reset_query(engine, named[name])
            case KeepPrevious():
                applied = begin_apply(engine, stage)
    return applied


def end_stages(
    engine: Engine, planned_stages: Sequence[Stage], started: Collection[str], *, succeeded: bool
) -> None:
    """Execute the stages after the last query; `succeeded` if no query failed."""
    swaps = [stage for stage in planned_stages if isinstance(stage, Swap)]
    joined = [JoinedSwap(swap.queries, swap.lock) for swap in swaps if swap.lock is not None]
    if not joined:
        update_lock(engine, started)
    elif succeeded:
        swap_together(engine.files, engine.tables, engine.held, engine.checkpoints, joined[0])
    if succeeded and any(isinstance(stage, KeepPrevious) for stage in planned_stages):
        end_apply(engine)


def _has_former(record: QueryRecord | None) -> bool:
    return record is not None and bool(record.former)


def lock_after(engine: Engine, started: Collection[str], swapped: Collection[str] = ()) -> Lock:
    """Return the groups that have state once these queries have started, and some are `swapped`."""
    before = checkpoints.read_lock(engine.files, engine.checkpoints) or Lock()
    names = {*started, *(group.name for group in before.groups)}
    records = checkpoints.records_in(engine.files, engine.checkpoints)
    return Lock(
        tuple(
            # Until a rebuild is swapped, the checkpoint has the states of former models.
            (before.group(group.name) or group)
            if group.name not in swapped and _has_former(records.get(group.name))
            else group
            for group in engine.job.physical.lock.groups
            if group.name in names
        )
    )


def update_lock(engine: Engine, started: Collection[str]) -> None:
    now = lock_after(engine, started)
    if now != (checkpoints.read_lock(engine.files, engine.checkpoints) or Lock()):
        checkpoints.write_lock(engine.files, engine.checkpoints, now)


def drop_no_longer_built(engine: Engine) -> None:
    """Remove tables, topics and checkpoints of models that the environment built before."""
    environment = engine.job.project.target.environment
    if environment is None:
        return
    built = {id_ for query in engine.job.physical.queries for id_ in query.stored}
    for name, record in records_in(engine.files, engine.checkpoints).items():
        gone = {id_: topic for id_, topic in (record.outputs or {}).items() if id_ not in built}
        for id_, topic in gone.items():
            if not topic:
                engine.tables.drop(TableOutput(id_))
        topics = [topic for topic in gone.values() if topic.startswith(environment.prefix)]
        remove_topics(admin_of(engine.kafka.cluster), topics)
        if gone.keys() == (record.outputs or {}).keys():
            engine.files.remove(checkpoint_folder(engine.checkpoints, name).folder)
