"""Finds models that are newer than the state that they would share: it has not seen all of their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from millstream.core.node_id import NodeId
from millstream.queries.lock import Lock


def newer_models(
    queries: Mapping[str, Collection[NodeId]], lock: Lock | None, homes: Mapping[NodeId, str]
) -> frozenset[NodeId]:
    """Return the models that must have queries of their own, which start with the first records.

    `queries` has the models that each planned query would store, `lock` the groups with state that run, and
    `homes` the query that stores each model now.
    """
    return frozenset(_newer(queries, lock or Lock(), homes))


def _newer(
    queries: Mapping[str, Collection[NodeId]], lock: Lock, homes: Mapping[NodeId, str]
) -> Iterator[NodeId]:
    for group in lock.groups:
        models = queries.get(group.name, ())
        others = [model for model in models if homes.get(model) != group.name]
        if len(others) < len(models):
            yield from others
