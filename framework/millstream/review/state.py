"""Whether each query keeps its state, by the same comparison that `run` makes when it starts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, structs

from millstream.deploy.planning.intents import Apply
from millstream.deploy.planning.newer_models import newer_models
from millstream.deploy.planning.query_splits import Split
from millstream.deploy.planning.records import Deployed, Record, new_record
from millstream.deploy.planning.reuse_running import ReusedPlan, kept_form
from millstream.deploy.planning.stages import chain, fit, name_of, stages, unaccepted
from millstream.queries.commands import continue_command, to_accept
from millstream.queries.counted_twice import with_readers
from millstream.queries.plan import Groups, Physical
from millstream.queries.topology import Topology, groups_of, physical_of, physical_settings, with_apart
from millstream.queries.values import Query
from millstream.queries.verdict import Accepted, Verdict
from millstream.review.changed_queries import differing
from millstream.review.outputs import plain
from millstream.review.replay import Statistics, replay
from millstream.review.values import QueryChange
from millstream.sameness.unchanged_models import SameRows


class Running(Struct, frozen=True):
    """The queries of two versions that are not literally the same, and the groups of all models."""

    old: Physical
    new: Physical
    groups: tuple[Groups, Groups]
    reused: ReusedPlan
    """The newer version on the older one."""


def running(old: Topology, new: Topology, same_rows: SameRows | None = None) -> Running:
    """Return the queries of an older version, and of the newer version deployed on it: groups stay.

    `same_rows` are the models of the two with the same rows, if they were compared before.
    """
    before = groups_of(old)
    homes = {model: name for name, models in before.models.items() for model in models}
    after = groups_of(new, before.lock)
    if newer := newer_models(after.models, before.lock, homes):
        new = with_apart(new, newer)
        after = groups_of(new, before.lock)
    settings, others = physical_settings(old.catalog), physical_settings(new.catalog)
    if (settings.timezone, settings.spark) != (others.timezone, others.spark):
        names = {*before.models, *after.models}
    else:
        changed = differing(old, new)
        names = set(before.models.keys() ^ after.models.keys())
        for groups in (before, after):
            names.update(name for name, models in groups.models.items() if not changed.isdisjoint(models))
    first = physical_of(old, only=names)
    deployed = Deployed({query.name: new_record("", query, {}) for query in first.queries}, first.lock)
    second = physical_of(new, first.lock, names)
    reused = kept_form(new, second, deployed, old.catalog, Apply(), only=names, same_rows=same_rows)
    if reused.running.lock != first.lock:
        after = groups_of(reused.topology, reused.running.lock)
    return Running(first, reused.physical, (before, after), reused)


def query_changes(compared: Running, statistics: Statistics) -> tuple[QueryChange, ...]:
    """Return how queries change, in their order; removed ones come last."""
    homes = {model: name for name, models in compared.groups[0].models.items() for model in models}
    remaining = {model for models in compared.groups[1].models.values() for model in models}
    return tuple(_changes(compared.reused, homes, remaining, statistics, Apply()))


def deployed_changes(
    reused: ReusedPlan, statistics: Statistics, accepted: Accepted
) -> tuple[QueryChange, ...]:
    """Return how running queries change, and those that would count records twice that are sent again."""
    new, running = reused.physical, reused.running
    homes = {model: name for name, record in running.records.items() for model in record.stored}
    remaining = {model for query in new.queries for model in query.stored}
    intent = Apply(accepted=accepted)
    changes = list(_changes(reused, homes, remaining, statistics, intent))
    rebuilt = [
        query
        for query in new.queries
        if unaccepted(query, running.records.get(query.name), running, accepted)
    ]
    readers = with_readers(rebuilt, new.queries)
    return tuple(
        structs.replace(
            change,
            status="rebuild",
            reasons=(f"it counts the rows of {plain((readers[change.name][1],))[0]}, which are sent again",),
            replay=replay(readers[change.name][0], new, statistics),
        )
        if change.name in readers
        else change
        for change in changes
    )


def _changes(
    reused: ReusedPlan,
    homes: Mapping[str, str],
    remaining: Collection[str],
    statistics: Statistics,
    intent: Apply,
) -> Iterator[QueryChange]:
    running, new = reused.running, reused.physical
    left = {split.name: split for split in reused.splits}
    deployment = stages(new.queries, running, intent, new.queries)
    before = dict(sorted(running.records.items()))
    for query in new.queries:
        was = before.pop(query.name, None)
        if was is None:
            change = _new(query, homes, new, statistics)
        else:
            change = _existing(fit(query, was, running), was, query, new, statistics)
            same = plain(model for model in query.stored if model in reused.models)
            gone = plain(reused.removed.get(query.name, ()))
            notes = [f"{model} is no longer computed by it" for model in gone]
            notes += [f"{model} means the same, and keeps the SQL that runs" for model in same]
            if (split := left.get(query.name)) is not None:
                notes.append(_leaves(split, running))
                reasons = reused.reasons.get(query.name) or change.reasons
                change = structs.replace(change, reasons=reasons)
            change = structs.replace(change, notes=(*change.notes, *notes))
        yield structs.replace(change, stages=tuple(map(name_of, chain(deployment, query.name))))
    yield from (_removed(record, remaining) for record in before.values())


def _leaves(split: Split, running: Deployed) -> str:
    others = plain(running.records[split.query].stored)
    continues = "continues" if len(others) == 1 else "continue"
    return (
        f"leaves the query of {', '.join(others)}, which {continues}; `millstream regroup` joins them again"
    )


def _existing(
    verdict: Verdict, was: Record, now: Query, new: Physical, statistics: Statistics
) -> QueryChange:
    joined = [model for model in now.stored if model not in was.stored]
    left = [model for model in was.stored if model not in now.stored]
    return QueryChange(
        name=now.name,
        status=verdict.kind,
        models=plain(now.stored),
        reasons=verdict.reasons,
        notes=(*_joined(now, joined), *(f"{model} is no longer computed by it" for model in plain(left))),
        stateful=now.signature.stateful,
        accept=tuple(f"{kind}:{name}" for kind, name in to_accept(verdict)),
        command=continue_command(now, verdict) if verdict.kind in {"stored", "mixed"} else "",
        replay=replay(now, new, statistics) if verdict.kind != "same" else None,
    )


def _joined(query: Query, models: Iterable[str]) -> Iterator[str]:
    for model in plain(models):
        if query.signature.stateful:
            yield f"{model} joins it, and gets records from now on"
        else:
            yield f"{model} joins it, after a backfill of the records that the query has read"


def _new(query: Query, homes: Mapping[str, str], new: Physical, statistics: Statistics) -> QueryChange:
    """Describe a query without a checkpoint; models that ran in other queries before start over in it."""
    moved = {model: homes[model] for model in query.stored if model in homes}
    reasons = tuple(
        f"{name} ran in {home} before, and {query.name} has no checkpoint: it starts over"
        for name, home in zip(plain(moved), moved.values(), strict=True)
    )
    return QueryChange(
        name=query.name,
        status="rebuild" if moved else "new",
        models=plain(query.stored),
        reasons=reasons,
        notes=() if moved else ("starts with the first records of its sources",),
        stateful=query.signature.stateful,
        replay=replay(query, new, statistics) if moved else None,
    )


def _removed(was: Record, remaining: Collection[str]) -> QueryChange:
    moved = any(model in remaining for model in was.stored)
    note = (
        "its models run in other queries"
        if moved
        else "its checkpoint can be removed: `millstream clean --orphans`"
    )
    return QueryChange(
        name=was.query, status="removed", models=plain(was.stored), notes=(note,),
        stateful=was.signature.stateful,
    )  # fmt: skip
