"""What `apply` does to a target: the project compared with what runs there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from millstream.compile.manifest import Compiled
from millstream.core.node_id import NodeId
from millstream.deploy.planning.reuse_running import ReusedPlan
from millstream.queries.verdict import AcceptedModels
from millstream.review.compare import levels_of, review_versions, with_state
from millstream.review.rebuild_cost import ReplayFigures
from millstream.review.state import deployed_changes
from millstream.review.values import BaseVersion, QueryChange, Review
from millstream.review.version import ReviewedVersion

_UNKNOWN = (
    "The definitions of the models that run there are unknown, so only their state is compared. "
    "The next `build`, `run` or `apply` of all models saves them."
)


def review_deployment(
    old: ReviewedVersion | None,
    new: ReviewedVersion,
    reused: ReusedPlan,
    statistics: ReplayFigures,
    accepted: AcceptedModels,
    leftovers: Collection[str] = (),
) -> Review:
    """Return what changes on a target; `old` is the version that was started there, if it is known.

    `leftovers` are the queries of models that were removed before that version was started.
    """
    manifest = new.manifest
    queries = [q for q in deployed_changes(reused, statistics, accepted) if q.name not in leftovers]
    changed = tuple(query for query in queries if query.status != "same" or query.notes)
    base = BaseVersion(f"what runs on {manifest.target}")
    if old is None:
        limits = (_UNKNOWN,) if reused.running.records else ()
        report = Review(project=manifest.project, target=manifest.target, against=base, limits=limits)
    else:
        report = review_versions(old, new, statistics)
    return replace(
        report,
        against=base,
        levels=levels_of(report.contracts, changed, report.costs),
        nodes=with_state(report.nodes, changed),
        queries=changed,
        same_queries=sum(query.status == "same" for query in queries),
    )


def rebuilt_queries(report: Review) -> tuple[QueryChange, ...]:
    """Return the queries that `apply` rebuilds."""
    return tuple(query for query in report.queries if query.status == "rebuild" or "rebuild" in query.stages)


def sent_before(report: Review) -> tuple[str, ...]:
    """Return the sinks that continue with other rows: the records that they have sent stay."""
    others = {model for query in report.queries if query.status != "same" for model in query.models}
    sinks = [node for node in report.nodes if node.kind == "model" and node.stored.startswith("topic ")]
    changed = [node for node in sinks if node.rows or any(c.kind != "nullability" for c in node.columns)]
    edited = [node for node in changed if node.status in {"changed", "affected"}]
    names = [node.id.shown_name for node in edited]
    return tuple(name for name in names if name not in others)


def untouched_columns(report: Review, new: Compiled) -> Mapping[NodeId, tuple[str, ...]]:
    """Return for each model the columns whose values did not change, as far as that is known."""
    if report.limits:
        return {}
    changes = {node.id: node for node in report.nodes}
    columns: dict[NodeId, tuple[str, ...]] = {}
    for id_, node in new.manifest.nodes.items():
        change = changes.get(id_)
        edited = {column.name for column in change.columns} if change else set()
        all_edited = change is not None and (change.rows or change.status in {"added", "renamed"})
        columns[id_] = () if all_edited else tuple(c.name for c in node.columns if c.name not in edited)
    return columns
