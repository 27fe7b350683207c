"""What `apply` does to a target: the project compared with what runs there."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from millstream.deployment.keeping import Kept
from millstream.manifest import Compiled
from millstream.physical.verdict import Accepted
from millstream.review.compare import levels_of, review, with_state
from millstream.review.replay import Statistics
from millstream.review.state import deployed_changes
from millstream.review.values import Base, QueryChange, Review
from millstream.review.version import Version

_UNKNOWN = (
    "The definitions of the models that run there are unknown, so only their state is compared. "
    "The next `build`, `run` or `apply` of all models saves them."
)


def deployment(
    old: Version | None,
    new: Version,
    kept: Kept,
    known: Statistics,
    accepted: Accepted,
) -> Review:
    """Return what changes on a target; `old` is the version that was started there, if it is known."""
    manifest = new.manifest
    queries = deployed_changes(kept, known, accepted)
    changed = tuple(each for each in queries if each.status != "same" or each.notes)
    base = Base(f"what runs on {manifest.target}")
    if old is None:
        limits = (_UNKNOWN,) if kept.running.records else ()
        found = Review(project=manifest.project, target=manifest.target, against=base, limits=limits)
    else:
        found = review(old, new, known)
    return replace(
        found,
        against=base,
        levels=levels_of(found.contracts, changed, found.costs),
        nodes=with_state(found.nodes, changed),
        queries=changed,
        same_queries=sum(each.status == "same" for each in queries),
    )


def rebuilds(found: Review) -> tuple[QueryChange, ...]:
    """Return the queries that `apply` rebuilds."""
    return tuple(each for each in found.queries if each.status == "rebuild" or "rebuild" in each.stages)


def sent_before(found: Review) -> tuple[str, ...]:
    """Return the sinks that continue with other rows: the records that they have sent stay."""
    others = {model for each in found.queries if each.status != "same" for model in each.models}
    sinks = [each for each in found.nodes if each.kind == "model" and each.stored.startswith("topic ")]
    changed = [each for each in sinks if each.rows or any(c.kind != "nullability" for c in each.columns)]
    edited = [each for each in changed if each.status in {"changed", "affected"}]
    names = [each.id.removeprefix("model.") for each in edited]
    return tuple(name for name in names if name not in others)


def untouched(found: Review, new: Compiled) -> Mapping[str, tuple[str, ...]]:
    """Return for each model the columns whose values did not change, as far as that is known."""
    if found.limits:
        return {}
    changes = {each.id: each for each in found.nodes}
    columns: dict[str, tuple[str, ...]] = {}
    for id_, node in new.manifest.nodes.items():
        change = changes.get(id_)
        edited = {column.name for column in change.columns} if change else set()
        all_edited = change is not None and (change.rows or change.status in {"added", "renamed"})
        columns[id_] = () if all_edited else tuple(c.name for c in node.columns if c.name not in edited)
    return columns
