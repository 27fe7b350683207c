"""The project compared with what runs on its target, for `plan` and `apply`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from millstream.cli.options import CommonOptions
from millstream.cli.remedies import RepeatedOptions, with_options
from millstream.cli.review_output import statistics_of
from millstream.core.encoding import to_msgpack

if TYPE_CHECKING:
    from millstream.compile.manifest import Compiled
    from millstream.deploy.planning.records import Deployed
    from millstream.deploy.values import Job
    from millstream.review.values import QueryChange, Review
    from millstream.review.version import ReviewedVersion


class DeploymentReview(Struct, frozen=True):
    review: Review
    rebuilds: tuple[QueryChange, ...]
    first: bool
    """The target has no queries yet."""
    leftovers: tuple[str, ...] = ()
    """Models that were removed before all models were last started, and whose checkpoints are still there."""
    older: Mapping[str, str] = {}
    """Tables with rows of an older version, and which these are."""


def plan_deployment(
    common: CommonOptions, root: Path, compiled: Compiled, job: Job, *, ask_kafka: bool = False
) -> DeploymentReview:
    """Return what an apply does if users accept what the job accepts."""
    import msgspec

    from millstream.deploy.checkpoints.deployed import read_deployed
    from millstream.deploy.planning.intents import Apply, accepted_by
    from millstream.deploy.planning.reuse_running import reuse_running_state
    from millstream.queries.topology import physical_of
    from millstream.review.deployment import rebuilt_queries, review_deployment
    from millstream.review.version import version_of

    running = read_deployed(job.project, root / ".millstream")
    if job.catalog.environment is not None:
        compiled = only_built(compiled, job)
    now = version_of("the working tree", compiled, root)
    physical = job.physical if running.lock == job.lock else physical_of(job.topology, running.lock)
    accepted = accepted_by(job.intent)
    reused_plan = reuse_running_state(job.topology, physical, running, Apply(accepted=accepted))
    statistics = statistics_of(common, root, now, ask_kafka=ask_kafka)
    left = _left_over(running, compiled)
    still = msgspec.structs.replace(
        running, records={name: record for name, record in running.records.items() if name not in left}
    )
    review = review_deployment(
        deployed_version(still, compiled), now, reused_plan, statistics, accepted, left
    )
    leftovers = (model.name for name in left for model in running.records[name].stored)
    older = {m.name: rows.text for record in running.records.values() for m, rows in record.older.items()}
    return DeploymentReview(review, rebuilt_queries(review), not running.records, tuple(leftovers), older)


def _left_over(running: Deployed, compiled: Compiled) -> frozenset[str]:
    """Return the queries of which no model existed when all models of the project were last started."""
    saved = _saved_version(running)
    if saved is None:
        return frozenset()
    existing = saved.manifest.nodes.keys() | compiled.manifest.nodes.keys()
    records = running.records.items()
    return frozenset(name for name, r in records if r.stored and existing.isdisjoint(r.stored))


def only_built(compiled: Compiled, job: Job) -> Compiled:
    """Return what an environment builds, with all that it reads: that is all there is to compare."""
    import msgspec

    from millstream.deploy.planning.definitions import definition_of

    stored = {id_ for query in job.physical.queries for id_ in query.stored}
    definition = definition_of(compiled.manifest, job.catalog, stored)
    manifest = msgspec.structs.replace(
        compiled.manifest, nodes=definition.nodes, functions=definition.functions
    )
    return msgspec.structs.replace(compiled, manifest=manifest, catalog=to_msgpack(definition.catalog))


def deployed_version(running: Deployed, compiled: Compiled) -> ReviewedVersion | None:
    """Return what runs by the records of its queries, or what was saved when all of them were started."""
    from millstream.deploy.planning.definitions import running_project
    from millstream.queries.topology import read_catalog
    from millstream.review.version import version_of

    saved = _saved_version(running)
    saved_definition = None if saved is None or saved.less else (saved.manifest, read_catalog(saved.compiled))
    deployed_project = running_project(running.records.values(), compiled.manifest, saved_definition)
    return saved if deployed_project is None else version_of("what runs", deployed_project, None)


def _saved_version(running: Deployed) -> ReviewedVersion | None:
    """Return the manifest that was saved when all queries were started, if it can be read."""
    from millstream.review.version import decode_version

    if running.manifest is None:
        return None
    try:
        return decode_version("what runs", running.manifest)
    except ValueError:
        return None  # written by another version of Millstream


def summarize_deployment(deployment: DeploymentReview, target: RepeatedOptions) -> str:
    """Say in a few sentences what an apply would do; commands are for the target."""
    from millstream.review.deployment import sent_before

    if deployment.first:
        return "Nothing runs on this target yet. All models start from the beginning of their topics."
    queries = _summarize_queries(deployment)
    if deployment.leftovers:
        command = with_options("millstream clean --orphans", target)
        queries += (
            f"\nLeft over of models removed earlier: {', '.join(deployment.leftovers)}. To remove: {command}"
        )
    queries += "".join(f"\n{name}: {rows}." for name, rows in sorted(deployment.older.items()))
    if not (sinks := sent_before(deployment.review)):
        return queries
    command = with_options(f"millstream build --rebuild {' '.join(sinks)}", target)
    return f"{queries}\nRecords that {', '.join(sinks)} sent before stay; to send all again: {command}"


def _summarize_queries(deployment: DeploymentReview) -> str:
    if not deployment.rebuilds:
        queries = deployment.review.queries
        models = dict.fromkeys(text.partition(":")[2] for query in queries for text in query.accept)
        accepted_text = f" {', '.join(models)}: what the old version computed stays." if models else ""
        return f"Nothing is rebuilt. All queries continue from their checkpoints.{accepted_text}"
    names = dict.fromkeys(model for rebuild in deployment.rebuilds for model in rebuild.models)
    rebuilt = ", ".join(names)
    return f"Rebuilt alongside the running version, compared, then swapped: {rebuilt}. All others continue."
