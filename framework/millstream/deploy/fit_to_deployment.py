"""Fits a job to what is deployed: groups that run, and states that must be kept."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from millstream.deploy.planning.intents import Apply, FullRefresh, Regroup, Update
from millstream.deploy.planning.records import Deployed
from millstream.deploy.planning.reuse_running import ReusedPlan, reuse_running_state
from millstream.deploy.values import Job
from millstream.queries.topology import physical_of


class FittedJob(Struct, frozen=True):
    """A job that is planned on what is deployed."""

    job: Job
    reused: ReusedPlan | None = None

    def changes(self, deployed: Deployed) -> bool:
        """Whether records or groups of what is deployed must change before queries start."""
        return self.reused is not None and bool(
            self.reused.splits
            or self.reused.running.records != deployed.records
            or self.reused.running.lock != deployed.lock
        )


def fit_job(job: Job, deployed: Deployed) -> FittedJob:
    """Plan the queries again if the deployed groups are others, or if what runs must be kept."""
    match job.intent:
        case Regroup():
            return FittedJob(job)
        case FullRefresh() if job.models is None:
            return FittedJob(job)
        case Update() | Apply() | FullRefresh():
            pass
    physical = job.physical
    if deployed.lock is not None and deployed.lock != job.lock:
        physical = physical_of(job.topology, deployed.lock)
    reused = reuse_running_state(job.topology, physical, deployed, job.intent, job.models)
    return FittedJob(
        replace(job, topology=reused.topology, physical=reused.physical, misfits=reused.misfits), reused
    )
