"""The stages of a deployment: what happens to each query, in order.

`plan` and `review` print them; `build`, `run` and `apply` execute them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh, Intent, Regroup, Update
from millstream.deploy.planning.query_selection import computing_queries
from millstream.deploy.planning.records import (
    Deployed,
    QueryRecord,
    joining_models,
    moved_models,
    taken_over_tables,
)
from millstream.plan.time_ranges import TimeRange
from millstream.queries.commands import APPLY, continue_command, rebuild_command
from millstream.queries.double_counting import DoubleCount, counted_twice, with_readers
from millstream.queries.lock import Lock
from millstream.queries.values import Query
from millstream.queries.verdict import AcceptedModels, Verdict, compare_signatures


class OfQuery(Struct, frozen=True):
    query: str


class Refuse(OfQuery, frozen=True):
    """The query's checkpoint does not fit, and the command may not rebuild it."""

    diagnostic: Diagnostic


class Reset(OfQuery, frozen=True):
    """Remove the query's checkpoint and tables."""


class Create(OfQuery, frozen=True):
    """The query is new and starts with the first records of its sources."""


class Continue(OfQuery, frozen=True):
    """The query continues from its checkpoint."""


class Backfill(OfQuery, frozen=True):
    """Run models that join the query over what it has read before."""

    models: tuple[NodeId, ...]


class Rebuild(OfQuery, frozen=True):
    """A second version of the query reads its sources from the start, alongside the running version."""


class Compare(OfQuery, frozen=True):
    """After the same records, the second version must have the same rows as the running version."""

    untouched: Mapping[NodeId, Sequence[str]]
    accept_differences: bool


class Start(OfQuery, frozen=True):
    """Start the query."""


class ReplaceRange(OfQuery, frozen=True):
    """Compute ranges of the query's tables again, from all that it has read, and replace their rows."""

    ranges: Mapping[NodeId, TimeRange]
    fewer_rows: bool


class Swap(Struct, frozen=True):
    """Put second versions in the place of the running ones, all or none."""

    queries: tuple[str, ...]
    lock: Lock | None = None
    """The groups after the swap, if they change."""


class KeepPrevious(Struct, frozen=True):
    """Retain the replaced versions until the next apply, for a rollback."""

    replaced: tuple[str, ...]
    created: tuple[str, ...]


Stage = (
    Refuse
    | Reset
    | Create
    | Continue
    | Backfill
    | Rebuild
    | Compare
    | Start
    | ReplaceRange
    | Swap
    | KeepPrevious
)


def plan_stages(
    queries: Sequence[Query],
    deployed: Deployed,
    intent: Intent,
    others: Sequence[Query],
    lock: Lock | None = None,
    misfits: Mapping[str, Sequence[NodeId]] | None = None,
) -> tuple[Stage, ...]:
    """Return the stages of queries.

    `others` are all queries of the project, since queries that don't run now may read the topics of those
    that do; `lock` has the groups of the project, and `misfits` the models of shared queries because of which
    these can't continue, if they are known.
    """
    match intent:
        case FullRefresh():
            return tuple(stage for query in queries for stage in (Reset(query.name), *_created(query)))
        case Regroup():
            return tuple(_regrouped(queries, deployed, others, lock or Lock()))
        case Update():
            return tuple(_updated(queries, deployed, intent, others, misfits or {}))
        case Apply():
            return tuple(_applied(queries, deployed, intent))


def stages_of_query(stages: Iterable[Stage], query: str) -> tuple[Stage, ...]:
    """Return the stages of one query."""
    return tuple(
        stage
        for stage in stages
        if (isinstance(stage, OfQuery) and stage.query == query)
        or (isinstance(stage, Swap) and stage.queries == (query,))
    )


def name_of(stage: Stage) -> str:
    """Return a stage's name for users."""
    return type(stage).__name__.lower()


def rebuilt_queries(stages: Iterable[Stage]) -> tuple[str, ...]:
    return tuple(stage.query for stage in stages if isinstance(stage, Rebuild))


def _created(query: Query) -> tuple[Stage, ...]:
    return Create(query.name), Start(query.name)


def _continued(query: Query, record: QueryRecord) -> Iterator[Stage]:
    yield Continue(query.name)
    if joined := joining_models(query, record):
        yield Backfill(query.name, joined)
    yield Start(query.name)


def _updated(
    queries: Sequence[Query],
    deployed: Deployed,
    intent: Update,
    others: Sequence[Query],
    misfits: Mapping[str, Sequence[NodeId]],
) -> Iterator[Stage]:
    # A query that never ran has nothing to rebuild.
    requested = computing_queries(others, intent.rebuild)
    to_rebuild = [
        query
        for query in queries
        if query in requested
        and (query.name in deployed.records or taken_over_tables(query, deployed.records))
    ]
    _check_readers(to_rebuild, others)
    for query in queries:
        record = deployed.records.get(query.name)
        if query in to_rebuild:
            yield from (Rebuild(query.name), Swap((query.name,)))
        elif record is None:
            yield from _created(query)
        elif misfit := rebuild_verdict(query, record, deployed, intent.accepted):
            yield Refuse(query.name, refuse_query(query, misfit, misfits.get(query.name, ())))
        else:
            yield from _continued(query, record)
        if ranges := {model: part for model, part in intent.ranges.items() if model in query.stored}:
            yield ReplaceRange(query.name, ranges, intent.fewer_rows)


def _applied(queries: Sequence[Query], deployed: Deployed, intent: Apply) -> Iterator[Stage]:
    records = deployed.records
    unfit = [
        query
        for query in queries
        if rebuild_verdict(query, records.get(query.name), deployed, intent.accepted)
        or taken_over_tables(query, records)
    ]
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


def rebuild_verdict(
    query: Query, record: QueryRecord | None, deployed: Deployed, accepted: AcceptedModels
) -> Verdict | None:
    """Return why a query must be rebuilt before it can continue."""
    verdict = judge_checkpoint(query, record, deployed) if record is not None else Verdict("same")
    return None if accepted.covers(verdict) else verdict


def judge_checkpoint(query: Query, record: QueryRecord, deployed: Deployed) -> Verdict:
    """Return whether a query can continue from its checkpoint."""
    if query.name in deployed.never_started:
        return Verdict("same")
    compared = compare_signatures(record.signature, query.signature)
    moved = tuple(moved_models(query, record)) if query.signature.stateful else ()
    if not moved:
        return compared
    return Verdict("rebuild", (*moved, *(compared.reasons if compared.kind == "rebuild" else ())))


def _regrouped(
    queries: Sequence[Query], deployed: Deployed, others: Sequence[Query], lock: Lock
) -> Iterator[Stage]:
    recorded = deployed.lock.groups if deployed.lock else ()
    before = {group.name: [member.models for member in group.members] for group in recorded}
    recorded_models = {model for members in before.values() for models in members for model in models}
    moved = [
        query
        for query in queries
        if (group := lock.group(query.name)) is not None
        and recorded_models.intersection(query.stored)
        and before.get(query.name) != [member.models for member in group.members]
    ]
    _check_readers(moved, others)
    names = tuple(query.name for query in moved)
    yield from map(Rebuild, names)
    groups = tuple(group for group in lock.groups if group.name in {*names, *before})
    yield Swap(names, Lock(groups))


def _check_readers(rebuilt_queries: Sequence[Query], others: Sequence[Query]) -> None:
    """Refuse to rebuild queries whose records another query would count twice."""
    double_counts = list(counted_twice(rebuilt_queries, others))
    if double_counts:
        raise MillstreamError(*map(double_count_error, double_counts))


def refuse_query(query: Query, verdict: Verdict, models: Sequence[NodeId] = ()) -> Diagnostic:
    """Return the error for a query that can't continue; only some of its `models` may be why."""
    concerned = [model for model in query.stored if model in models] or list(query.stored)
    title = (
        query.title
        if len(concerned) == len(query.stored)
        else ", ".join(model.last_name for model in concerned)
    )
    # The only state of a query often has its name.
    reasons = "; ".join(reason.removeprefix(f"{title}: ") for reason in verdict.reasons)
    others = [model.last_name for model in query.stored if model not in concerned]
    shared = f"; {', '.join(others)} shares its query, and continues then" if len(others) == 1 else ""
    shared = f"; {', '.join(others)} share its query, and continue then" if len(others) > 1 else shared
    if verdict.kind in {"stored", "mixed"}:
        code = "MS871" if verdict.kind == "mixed" else "MS880"
        remedy = f"continue from here with {continue_command(query, verdict)}, or rebuild: {APPLY}"
        return Diagnostic(code, f"{title}: {reasons}", None, remedy)
    message = f"{title} can't continue from its checkpoint: {reasons}{shared}"
    remedy = f"rebuild it alongside the running version, then swap: {APPLY}"
    return Diagnostic("MS870", message, None, remedy)


def double_count_error(double: DoubleCount) -> Diagnostic:
    """Return the error for a query that would count rows twice."""
    message = (
        f"{double.writer.title} would send its rows again, and {double.reader.title} would count them twice"
    )
    return Diagnostic("MS882", message, None, f"rebuild both: {rebuild_command([double.model])}")
