"""Splits queries of a run, so that an apply rebuilds only the models that it must.

The running version continues, in more queries than before; only then does another version take over.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from millstream.deploy.checkpoints.deployed import deployed_at
from millstream.deploy.checkpoints.splitting import apply_splits
from millstream.deploy.engine import Engine
from millstream.deploy.fit_to_deployment import fit_job
from millstream.deploy.handover.query_exchange import NEXT_BATCH, halt_queries, take_over
from millstream.deploy.handover.version_loading import cannot_leave, fitted_to_run
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.reuse_running import ReusedPlan, incompatible_queries
from millstream.deploy.values import ApplyStep, Job


def split_run(live: LiveQueries, version: Job, go_on: Callable[[], None]) -> None:
    """Split models that another version rebuilds from the queries that they share with others."""
    running = live.running
    deployed = deployed_at(running.files, running.checkpoints)
    reused = fit_job(version, deployed).reused
    if reused is None or not reused.splits:
        return
    older = _in_more_queries(running, reused)
    left = {split.query for split in reused.splits}
    go_on()
    live.await_batch(left, NEXT_BATCH)
    with halt_queries(live, left, "splitting") as stopped:
        go_on()

        def swap() -> None:
            apply_splits(running.files, running.checkpoints, deployed, reused.running, reused.splits)

        finished = take_over(live, older, stopped, swap)
    running.tell(ApplyStep("split", (*finished.replaced, *finished.added)))


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
