"""The stages of a deployment: what happens to each query, in the order in which it happens.

`plan` and `review` print them; `build`, `run` and `apply` carry them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.deployment.choosing import makers
from millstream.deployment.intents import Apply, FullRefresh, Intent, Regroup, Update
from millstream.deployment.records import Deployed, Record, newcomers, taken_over
from millstream.deployment.refusals import counted_twice_problem, refusal
from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.counted_twice import counted_twice, with_readers
from millstream.physical.lock import Lock
from millstream.physical.values import Query
from millstream.physical.verdict import Verdict, needs_rebuild, verdict


class Refuse(Struct, frozen=True):
    """Its checkpoint does not fit, and nothing says that it may be rebuilt."""

    query: str
    problem: Diagnostic


class Reset(Struct, frozen=True):
    """Forget its checkpoint and its tables."""

    query: str


class Create(Struct, frozen=True):
    """It begins with the first records of what it reads."""

    query: str


class Continue(Struct, frozen=True):
    """It goes on from its checkpoint."""

    query: str


class Backfill(Struct, frozen=True):
    """Models that join it get what it has read before."""

    query: str
    models: tuple[str, ...]


class Rebuild(Struct, frozen=True):
    """A second version of it reads its sources from their start, next to the running one."""

    query: str


class Compare(Struct, frozen=True):
    """The second version must have the rows of the running one after the same records."""

    query: str
    untouched: Mapping[str, Sequence[str]]
    accept_differences: bool


class Start(Struct, frozen=True):
    """Read what there is to read."""

    query: str


class Swap(Struct, frozen=True):
    """Second versions take the places of the running ones: all or none."""

    queries: tuple[str, ...]
    lock: Lock | None = None
    """The groups from then on, where they change."""


class KeepPrevious(Struct, frozen=True):
    """Keep what is replaced, until the next apply, so that it can be rolled back."""

    replaced: tuple[str, ...]
    created: tuple[str, ...]


OfQuery = Refuse | Reset | Create | Continue | Backfill | Rebuild | Compare | Start
Stage = OfQuery | Swap | KeepPrevious


def stages(
    queries: Sequence[Query],
    deployed: Deployed,
    intent: Intent,
    others: Sequence[Query],
    lock: Lock | None = None,
) -> tuple[Stage, ...]:
    """Return what happens to queries.

    `others` are all queries of the project, as queries that don't run now may read what these send; `lock`
    has the groups of the project.
    """
    match intent:
        case FullRefresh():
            return tuple(stage for query in queries for stage in (Reset(query.name), *_created(query)))
        case Regroup():
            return tuple(_regrouped(queries, deployed, others, lock or Lock()))
        case Update():
            return tuple(_updated(queries, deployed, intent, others))
        case Apply():
            return tuple(_applied(queries, deployed, intent))


def chain(found: Iterable[Stage], query: str) -> tuple[Stage, ...]:
    """Return the stages of one query."""
    return tuple(
        stage
        for stage in found
        if (stage.queries == (query,) if isinstance(stage, Swap) else getattr(stage, "query", "") == query)
    )


def name_of(stage: Stage) -> str:
    """Return what people call a stage."""
    return type(stage).__name__.lower()


def rebuilt(found: Iterable[Stage]) -> tuple[str, ...]:
    """Return the names of the queries that are rebuilt."""
    return tuple(stage.query for stage in found if isinstance(stage, Rebuild))


def _created(query: Query) -> tuple[Stage, ...]:
    return Create(query.name), Start(query.name)


def _continued(query: Query, record: Record) -> Iterator[Stage]:
    yield Continue(query.name)
    if joined := newcomers(query, record):
        yield Backfill(query.name, joined)
    yield Start(query.name)


def _updated(
    queries: Sequence[Query], deployed: Deployed, intent: Update, others: Sequence[Query]
) -> Iterator[Stage]:
    # One that keeps nothing, or never ran, has nothing to rebuild.
    wanted = makers(others, intent.rebuild)
    asked = [
        query
        for query in queries
        if query in wanted
        and (query.signature.stateful or query.tables)
        and (query.name in deployed.records or taken_over(query, deployed.records))
    ]
    _check_readers(asked, others)
    for query in queries:
        record = deployed.records.get(query.name)
        if query in asked:
            yield from (Rebuild(query.name), Swap((query.name,)))
        elif record is None:
            yield from _created(query)
        elif needs_rebuild(
            (found := fit(query, record, deployed)).kind, accept_forward=intent.accept_forward
        ):
            yield Refuse(query.name, refusal(query, found))
        else:
            yield from _continued(query, record)


def _applied(queries: Sequence[Query], deployed: Deployed, intent: Apply) -> Iterator[Stage]:
    records = deployed.records
    unfit = [query for query in queries if _is_unfit(query, deployed, intent) or taken_over(query, records)]
    names = {query.name for query in unfit} | with_readers(unfit, queries).keys()
    created = {query.name for query in queries} - records.keys() - names
    yield KeepPrevious(tuple(sorted(names)), tuple(sorted(created)))
    for query in queries:
        name = query.name
        if name in names:
            yield Rebuild(name)
            yield Compare(name, intent.untouched, intent.accept_differences)
            yield Swap((name,))
        elif (record := records.get(name)) is None:
            yield from _created(query)
        else:
            yield from _continued(query, record)


def _is_unfit(query: Query, deployed: Deployed, intent: Apply) -> bool:
    record = deployed.records.get(query.name)
    if record is None:
        return False
    return needs_rebuild(fit(query, record, deployed).kind, accept_forward=intent.accept_forward)


def fit(query: Query, record: Record, deployed: Deployed) -> Verdict:
    """Return whether a query may go on from its checkpoint."""
    if query.name in deployed.never_started:
        return Verdict("same")
    return verdict(record.signature, query.signature)


def _regrouped(
    queries: Sequence[Query], deployed: Deployed, others: Sequence[Query], now: Lock
) -> Iterator[Stage]:
    before = deployed.lock or Lock()
    known = {model for group in before.groups for member in group.members for model in member.models}
    moved = [
        query
        for query in queries
        if (group := now.group(query.name)) is not None
        and known.intersection(query.stored)
        and _members(before, query.name) != [member.models for member in group.members]
    ]
    _check_readers(moved, others)
    names = tuple(query.name for query in moved)
    yield from map(Rebuild, names)
    groups = tuple(group for group in now.groups if group.name in names or before.group(group.name))
    yield Swap(names, Lock(groups))


def _members(lock: Lock, name: str) -> list[tuple[str, ...]]:
    group = lock.group(name)
    return [] if group is None else [member.models for member in group.members]


def _check_readers(asked: Sequence[Query], others: Sequence[Query]) -> None:
    """Refuse to send records again to a topic of which a state would count them twice."""
    found = list(counted_twice(asked, others))
    if found:
        raise MillstreamError(*map(counted_twice_problem, found))
