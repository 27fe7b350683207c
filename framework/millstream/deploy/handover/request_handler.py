"""Handles what commands ask of a run; what it executes changes only by them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.checkpoints.applied import read_apply
from millstream.deploy.checkpoints.deployed import deployed_at
from millstream.deploy.checkpoints.splitting import apply_splits
from millstream.deploy.engine import Engine
from millstream.deploy.fit_to_deployment import fit_job
from millstream.deploy.handover.changes import changed_queries
from millstream.deploy.handover.channel import RequestSender
from millstream.deploy.handover.deploy import deploy_version
from millstream.deploy.handover.query_exchange import NEXT_BATCH, halt_queries, take_over
from millstream.deploy.handover.range_replacement import replace_in_run
from millstream.deploy.handover.values import (
    DeployFinished,
    DeployRequest,
    NewTopicsRequest,
    ProjectVersion,
    RangeRequest,
    Request,
    RollBackRequest,
    answer_of,
)
from millstream.deploy.handover.version_loading import cannot_leave, engine_of, fitted_to_run, load_version
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.matched_topics import match_job
from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.deploy.planning.reuse_running import ReusedPlan, incompatible_queries
from millstream.deploy.planning.stages import Refuse, plan_stages
from millstream.deploy.stages.roll_back import Rollback, put_back, rollback_of
from millstream.deploy.topics import make_topics
from millstream.deploy.values import ApplyStep, Event, Job
from millstream.engine.queries.failures import problem_of
from millstream.kafka.clients import admin_of


class AbandonedError(Exception):
    """The command that asked has ended, or the run stops."""


class RequestHandler:
    def __init__(self, live: LiveQueries, stopping: threading.Event) -> None:
        self._live = live
        self._stopping = stopping
        self._before: tuple[str, Engine] | None = None
        """The id of the last apply that has rebuilt something in this run, and the version before it."""

    def __call__(self, request: Request, caller: RequestSender) -> DeployFinished:
        tell = self._live.running.tell

        def go_on() -> None:
            if self._stopping.is_set() or not caller.waits:
                raise AbandonedError

        tell(ApplyStep("began"))
        try:
            return self._handle(request, caller, go_on)
        except AbandonedError:
            message = "the run stops" if self._stopping.is_set() else "the command has ended"
            tell(ApplyStep("failed", message=message))
            remedy = "repeat the command: it continues"
            raise MillstreamError(Diagnostic("MS890", f"not applied: {message}", None, remedy)) from None
        except MillstreamError as error:
            tell(
                ApplyStep("failed", message="; ".join(diagnostic.message for diagnostic in error.diagnostics))
            )
            raise
        except Exception as error:
            engine = self._live.running
            diagnostic = problem_of("apply", error, str(engine.log))
            tell(ApplyStep("failed", message=diagnostic.message))
            raise MillstreamError(diagnostic) from error

    def _handle(self, request: Request, caller: RequestSender, go_on: Callable[[], None]) -> DeployFinished:
        old = self._live.running
        match request:
            case DeployRequest(version=version, intent=intent):
                applied = read_apply(old.files, old.checkpoints)
                job = load_version(old, version, intent)
                split_run(self._live, job, go_on)
                old = self._live.running
                finished = deploy_version(self._live, engine_of(_telling(old, caller), job), go_on)
                now = read_apply(old.files, old.checkpoints)
                if now is not None and now != applied:
                    self._before = now.id, old
            case RollBackRequest(version=version):
                finished = roll_back_run(self._live, _telling(old, caller), self._before, version, go_on)
                self._before = None
            case RangeRequest():
                replace_in_run(self._live, _telling(old, caller), request, go_on)
                finished = DeployFinished()
            case NewTopicsRequest():
                finished = read_new_topics(self._live, _telling(old, caller), go_on)
        # The command does not listen any more.
        self._live.running = replace(self._live.running, tell=old.tell)
        for supervised in self._live.all():
            supervised.adopt(self._live.running)
        return finished


def _telling(engine: Engine, caller: RequestSender) -> Engine:
    """Return an engine that also reports to the command that has asked."""
    tell_run = engine.tell

    def tell(event: Event) -> None:
        tell_run(event)
        if (answer := answer_of(event)) is not None:
            caller.tell(answer)

    return replace(engine, tell=tell)


def read_new_topics(live: LiveQueries, engine: Engine, go_on: Callable[[], None]) -> DeployFinished:
    """Let queries also read the topics that match the patterns of their sources by now."""
    job = match_job(replace(engine.job, intent=Update()), admin_of(engine.kafka.cluster))
    if job.catalog == engine.job.catalog:
        return DeployFinished()
    return deploy_version(live, engine_of(engine, job), go_on)


# The running version continues, in more queries than before; only then does another version take over.


def split_run(live: LiveQueries, version: Job, go_on: Callable[[], None]) -> None:
    """Split models that another version rebuilds from the queries that they share with others."""
    engine = live.running
    deployed = deployed_at(engine.files, engine.checkpoints)
    reused = fit_job(version, deployed).reused
    if reused is None or not reused.splits:
        return
    older = _in_more_queries(engine, reused)
    left = {split.query for split in reused.splits}
    go_on()
    live.await_batch(left, NEXT_BATCH)
    with halt_queries(live, left, "splitting") as stopped:
        go_on()

        def swap() -> None:
            apply_splits(engine.files, engine.checkpoints, deployed, reused.running, reused.splits)

        finished = take_over(live, older, stopped, swap)
    engine.tell(ApplyStep("split", (*finished.replaced, *finished.added)))


def _in_more_queries(engine: Engine, reused: ReusedPlan) -> Engine:
    """Return the version that runs, as it continues after the splits."""
    job = replace(engine.job, lock=None, intent=Update())
    job = fitted_to_run(job, reused.running)
    names = {name for split in reused.splits for name in (split.query, split.name)}
    planned = {query.name for query in job.physical.queries}
    if not planned.issuperset(names) or not names.isdisjoint(
        incompatible_queries(job.physical, reused.running)
    ):
        raise cannot_leave(reused.splits)
    return engine.with_job(job)


def roll_back_run(
    live: LiveQueries,
    engine: Engine,
    before: tuple[str, Engine] | None,
    version: ProjectVersion,
    go_on: Callable[[], None],
) -> DeployFinished:
    """Put back what the last apply replaced.

    The run continues with the version that ran `before` an apply of this id. If another run executed that, it
    is the project on disk, which must fit what is put back.
    """
    rollback = rollback_of(engine)
    if before is not None and before[0] == rollback.applied.id:
        older = replace(before[1], tell=engine.tell)
    else:
        older = engine.with_job(load_version(engine, version, Update()))
    older = _planned(older, rollback)
    _check(older, rollback)
    changed = changed_queries(live.running, older, live.queries, ())
    changed |= {name for name in (*rollback.retained, *rollback.applied.begun) if live.of(name) is not None}
    go_on()
    with halt_queries(live, changed) as stopped:
        go_on()
        back = take_over(live, older, stopped, lambda: put_back(older, rollback))
        older.tell(ApplyStep("replaced", back.replaced))
        return back


def _restored(engine: Engine, rollback: Rollback) -> Deployed:
    """Return what is deployed after the rollback."""
    now = deployed_at(engine.files, engine.checkpoints)
    records: dict[str, QueryRecord] = {}
    for name, record in now.records.items():
        retained = rollback.retained.get(name)
        if retained is None and name not in rollback.applied.begun:
            records[name] = record
        elif retained is not None and retained.record is not None:
            records[name] = retained.record
    return Deployed(records, rollback.applied.lock, None, now.never_started - rollback.retained.keys())


def _planned(older: Engine, rollback: Rollback) -> Engine:
    """Plan the older version by what is deployed after the rollback."""
    job = match_job(replace(older.job, lock=None, intent=Update()), admin_of(older.kafka.cluster))
    job = fitted_to_run(job, _restored(older, rollback))
    make_topics(job, job.physical.queries, older.kafka.cluster, older.tell)
    return older.with_job(job)


def _check(older: Engine, rollback: Rollback) -> None:
    queries = older.job.physical.queries
    planned = plan_stages(queries, _restored(older, rollback), Update(), queries)
    refused = [stage.diagnostic.message for stage in planned if isinstance(stage, Refuse)]
    if refused:
        message = f"the project is not the version that ran before the last apply: {'; '.join(refused)}"
        remedy = "check out that version, and repeat `millstream apply --rollback`"
        raise MillstreamError(Diagnostic("MS898", message, None, remedy))
