"""What becomes of the state of each query, by the same comparison that `run` starts with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.physical.commands import forward_command
from millstream.physical.plan import Physical
from millstream.physical.values import Query
from millstream.physical.verdict import verdict
from millstream.review.outputs import plain, stored
from millstream.review.replay import Statistics, replay
from millstream.review.values import QueryChange


def query_changes(old: Physical, new: Physical, statistics: Statistics) -> tuple[QueryChange, ...]:
    """Return the queries that don't go on as they are, in their order; those that are gone come last."""
    before = {query.name: query for query in old.queries}
    homes = {model: query.name for query in old.queries for model in stored(query)}
    found: list[QueryChange] = []
    for query in new.queries:
        was = before.pop(query.name, None)
        found.append(
            _new(query, homes, new, statistics) if was is None else _kept(was, query, new, statistics)
        )
    found += [_gone(query, new) for query in before.values()]
    return tuple(found)


def _kept(was: Query, now: Query, new: Physical, statistics: Statistics) -> QueryChange:
    told = verdict(was.signature, now.signature)
    joined = [model for model in stored(now) if model not in stored(was)]
    left = [model for model in stored(was) if model not in stored(now)]
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


def _new(query: Query, homes: dict[str, str], new: Physical, statistics: Statistics) -> QueryChange:
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
        stateful=query.signature.stateful,
        replay=replay(query, new, statistics) if moved else None,
    )


def _gone(query: Query, new: Physical) -> QueryChange:
    now = {model for each in new.queries for model in stored(each)}
    kept = [model for model in stored(query) if model in now]
    note = "its models run in other queries" if kept else "its checkpoint can be removed: `millstream clean`"
    return QueryChange(
        name=query.name, status="removed", models=plain(stored(query)), notes=(note,),
        stateful=query.signature.stateful,
    )  # fmt: skip
