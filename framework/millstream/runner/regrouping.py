"""Stateful models are put together anew: what a lock kept apart shares a query, by being rebuilt.

All queries that change are made beside what runs; then all of them are swapped, or, where one failed, none.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.physical.lock import Lock
from millstream.physical.values import Query
from millstream.runner import checkpoints
from millstream.runner.checkpoints import outputs_of
from millstream.runner.engine import Engine
from millstream.runner.rebuilding import check_readers
from millstream.runner.swapping import Together, swap_together


def to_regroup(running: Engine, queries: Iterable[Query]) -> dict[str, Query]:
    """Return the queries whose models have state elsewhere, or in another order."""
    before = checkpoints.read_lock(running.files, running.checkpoints) or Lock()
    kept = {model for group in before.groups for member in group.members for model in member.models}
    now = running.job.physical.lock
    anew = {
        query.name: query
        for query in queries
        if (group := now.group(query.name)) is not None
        and kept.intersection(outputs_of(query))
        and _members(before, query.name) != [member.models for member in group.members]
    }
    check_readers(running, anew)
    return anew


def conclude(running: Engine, anew: Iterable[str]) -> None:
    """Swap all queries that were made anew."""
    before = checkpoints.read_lock(running.files, running.checkpoints) or Lock()
    names = tuple(anew)
    groups = (g for g in running.job.physical.lock.groups if g.name in names or before.group(g.name))
    swap_together(running.files, running.tables, running.checkpoints, Together(names, Lock(tuple(groups))))


def _members(lock: Lock, name: str) -> list[tuple[str, ...]]:
    group = lock.group(name)
    return [] if group is None else [member.models for member in group.members]
