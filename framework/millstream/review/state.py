"""What becomes of the state of each query, by the same comparison that `run` starts with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from millstream.physical.commands import forward_command
from millstream.physical.plan import Groups, Physical
from millstream.physical.resent import with_readers
from millstream.physical.values import Query, Signature
from millstream.physical.verdict import is_lost, verdict
from millstream.review.differing import differing
from millstream.review.outputs import plain, stored
from millstream.review.replay import Statistics, replay
from millstream.review.values import QueryChange
from millstream.topology import Topology, groups_of, physical_of, physical_settings


class Running(Struct, frozen=True):
    """The queries of two versions that are not the same to the letter, and which models are in all."""

    old: Physical
    new: Physical
    groups: tuple[Groups, Groups]


def running(old: Topology, new: Topology) -> Running:
    """Return what runs of an older version, and what would run after it.

    What runs stays in its groups, as it does when the newer version is deployed on the older one.
    """
    before = groups_of(old)
    after = groups_of(new, before.lock)
    if physical_settings(old.catalog).timezone != physical_settings(new.catalog).timezone:
        names = {*before.models, *after.models}
    else:
        changed = differing(old, new)
        names = set(before.models.keys() ^ after.models.keys())
        for groups in (before, after):
            names.update(name for name, models in groups.models.items() if not changed.isdisjoint(models))
    first = physical_of(old, only=names)
    return Running(first, physical_of(new, first.lock, names), (before, after))


class Ran(Struct, frozen=True):
    """A query that runs, as much of it as decides what becomes of it."""

    name: str
    signature: Signature
    stored: tuple[str, ...]
    """Ids of the models whose rows it stores."""


def query_changes(found: Running, statistics: Statistics) -> tuple[QueryChange, ...]:
    """Return what becomes of queries, in their order; those that are gone come last."""
    ran = [Ran(query.name, query.signature, stored(query)) for query in found.old.queries]
    homes = {model: name for name, models in found.groups[0].models.items() for model in models}
    left = {model for models in found.groups[1].models.values() for model in models}
    return tuple(_changes(ran, homes, found.new, left, statistics))


def deployed_changes(
    ran: Sequence[Ran], new: Physical, statistics: Statistics, *, accept_forward: bool
) -> tuple[QueryChange, ...]:
    """Return what becomes of queries that run, and of those that count what these send again."""
    homes = {model: each.name for each in ran for model in each.stored}
    left = {model for query in new.queries for model in stored(query)}
    found = list(_changes(ran, homes, new, left, statistics))
    anew = {each.name for each in found if is_lost(each.status, accept_forward=accept_forward)}
    readers = with_readers((query for query in new.queries if query.name in anew), new.queries)
    return tuple(
        structs.replace(
            each,
            status="rebuild",
            reasons=(f"it counts the rows of {plain((readers[each.name][1],))[0]}, which are sent again",),
            replay=replay(readers[each.name][0], new, statistics),
        )
        if each.name in readers
        else each
        for each in found
    )


def _changes(
    ran: Iterable[Ran],
    homes: Mapping[str, str],
    new: Physical,
    left: Collection[str],
    statistics: Statistics,
) -> Iterator[QueryChange]:
    before = {each.name: each for each in ran}
    for query in new.queries:
        was = before.pop(query.name, None)
        yield _new(query, homes, new, statistics) if was is None else _kept(was, query, new, statistics)
    yield from (_gone(each, left) for each in before.values())


def _kept(was: Ran, now: Query, new: Physical, statistics: Statistics) -> QueryChange:
    told = verdict(was.signature, now.signature)
    joined = [model for model in stored(now) if model not in was.stored]
    left = [model for model in was.stored if model not in stored(now)]
    return QueryChange(
        name=now.name,
        status=told.kind,
        models=plain(stored(now)),
        reasons=told.reasons,
        notes=(*_joined(now, joined), *_left(left)),
        stateful=now.signature.stateful,
        command=forward_command(now) if told.kind == "forward" else "",
        replay=replay(now, new, statistics) if told.kind in {"rebuild", "forward"} else None,
    )


def _joined(query: Query, models: Iterable[str]) -> Iterator[str]:
    for model in plain(models):
        if query.signature.stateful:
            yield f"{model} is new in it, and gets the records from now on"
        else:
            yield f"{model} is new in it, and first gets what the query has read before"


def _left(models: Iterable[str]) -> Iterator[str]:
    for model in plain(models):
        yield f"{model} is no longer made by it"


def _new(query: Query, homes: Mapping[str, str], new: Physical, statistics: Statistics) -> QueryChange:
    """Tell a query that has no checkpoint: what ran elsewhere before begins anew in it."""
    moved = {model: homes[model] for model in stored(query) if model in homes}
    reasons = tuple(
        f"{name} ran in {home} before, and {query.name} has no checkpoint: it begins anew"
        for name, home in zip(plain(moved), moved.values(), strict=True)
    )
    return QueryChange(
        name=query.name,
        status="rebuild" if moved else "new",
        models=plain(stored(query)),
        reasons=reasons,
        notes=() if moved else ("begins with the first records of what it reads",),
        stateful=query.signature.stateful,
        replay=replay(query, new, statistics) if moved else None,
    )


def _gone(was: Ran, left: Collection[str]) -> QueryChange:
    kept = [model for model in was.stored if model in left]
    note = "its models run in other queries" if kept else "its checkpoint can be removed: `millstream clean`"
    return QueryChange(
        name=was.name, status="removed", models=plain(was.stored), notes=(note,),
        stateful=was.signature.stateful,
    )  # fmt: skip
