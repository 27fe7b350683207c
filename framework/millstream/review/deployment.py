"""What an `apply` does to a target: the project as it is, compared with what runs there."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from millstream.deployment.records import Deployed
from millstream.manifest import Compiled
from millstream.physical.plan import Physical
from millstream.physical.verdict import needs_rebuild
from millstream.review.compare import levels_of, review, with_state
from millstream.review.replay import Statistics
from millstream.review.state import deployed_changes
from millstream.review.values import Base, QueryChange, Review
from millstream.review.version import Version

_UNKNOWN = (
    "What the models said that run there is not known: only their state is compared. "
    "The next `build`, `run` or `apply` of all models notes it."
)


def deployment(
    there: Deployed,
    old: Version | None,
    new: Version,
    physical: Physical,
    known: Statistics,
    *,
    accept_forward: bool,
) -> Review:
    """Return what changes on a target; `old` is what its models said when they began, if that is known."""
    manifest = new.manifest
    queries = deployed_changes(there, physical, known, accept_forward=accept_forward)
    told = tuple(each for each in queries if each.status != "same" or each.notes)
    base = Base(f"what runs on {manifest.target}")
    if old is None:
        limits = (_UNKNOWN,) if there.records else ()
        found = Review(project=manifest.project, target=manifest.target, against=base, limits=limits)
    else:
        found = review(old, new, known)
    return replace(
        found,
        against=base,
        levels=levels_of(found.contracts, told, found.costs),
        nodes=with_state(found.nodes, told),
        queries=told,
        same_queries=sum(each.status == "same" for each in queries),
    )


def made_anew(found: Review, *, accept_forward: bool) -> tuple[QueryChange, ...]:
    """Return the queries that an `apply` makes anew."""
    return tuple(each for each in found.queries if needs_rebuild(each.status, accept_forward=accept_forward))


def untouched(found: Review, new: Compiled) -> Mapping[str, tuple[str, ...]]:
    """Return by model the columns that have the same values as before, as far as that is known."""
    if found.limits:
        return {}
    changes = {each.id: each for each in found.nodes}
    told: dict[str, tuple[str, ...]] = {}
    for id_, node in new.manifest.nodes.items():
        change = changes.get(id_)
        other = {column.name for column in change.columns} if change else set()
        whole = change is not None and (change.rows or change.status in {"added", "renamed"})
        told[id_] = () if whole else tuple(c.name for c in node.columns if c.name not in other)
    return told
