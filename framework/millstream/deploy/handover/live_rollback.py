"""Rolls the last apply back while the run continues."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.checkpoints.deployed import deployed_at
from millstream.deploy.engine import Engine
from millstream.deploy.handover.changes import changed_queries
from millstream.deploy.handover.query_exchange import halt_queries, take_over
from millstream.deploy.handover.values import DeployFinished, ProjectVersion
from millstream.deploy.handover.version_loading import fitted_to_run, load_version
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.deploy.planning.stages import Refuse, plan_stages
from millstream.deploy.stages.roll_back import Rollback, put_back, rollback_of
from millstream.deploy.topics import make_topics
from millstream.deploy.values import ApplyStep


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
    job = fitted_to_run(replace(older.job, lock=None, intent=Update()), _restored(older, rollback))
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
