"""Evaluates `state:` selectors by the same comparison as a review."""

from __future__ import annotations

from functools import cached_property

from millstream.core.node_id import NodeId
from millstream.review.compare import with_state
from millstream.review.nodes import NodeComparison
from millstream.review.rebuild_cost import ReplayFigures
from millstream.review.state import deployed_queries, query_changes
from millstream.review.values import NOT_SAME, NodeChange
from millstream.review.version import ReviewedVersion, with_plan

_UNMODIFIED = {"persisted_descriptions", "state"}
"""Parts that don't count as a modification on their own."""


class StateSelector:
    """Returns the ids that `state:<value>` selects; compares only what is needed."""

    def __init__(self, old: ReviewedVersion, new: ReviewedVersion) -> None:
        self._old = with_plan(old)
        self._new = with_plan(new, other=self._old)

    def __call__(self, value: str) -> frozenset[NodeId]:
        before, after = self._old.manifest.nodes, self._new.manifest.nodes
        added = frozenset(after.keys() - before.keys())
        name, _, part = value.partition(".")
        match name:
            case "new":
                return added
            case "old":
                return frozenset(after) - added
            case "unmodified":
                return frozenset(after) - added - self._modified
        if part == "state":
            return frozenset(change.id for change in self._with_state if "state" in change.parts)
        if part:
            return frozenset(change.id for change in self._changes if part in change.parts)
        # As in dbt, new nodes count as modified.
        return self._modified | added

    @cached_property
    def _changes(self) -> tuple[NodeChange, ...]:
        return NodeComparison(self._old, self._new).changes()

    @cached_property
    def _modified(self) -> frozenset[NodeId]:
        return frozenset(change.id for change in self._changes if set(change.parts) - _UNMODIFIED)

    @cached_property
    def _with_state(self) -> tuple[NodeChange, ...]:
        if not (self._old.topology and self._new.topology):
            return ()
        queries = query_changes(deployed_queries(self._old.topology, self._new.topology), ReplayFigures())
        losing = {m for q in queries if q.status in NOT_SAME for m in q.models}
        edited = {change.id for change in self._changes}
        # A model that only shares a query with an edited one loses its state with it.
        others = tuple(
            NodeChange(id=NodeId("model", name), kind="model", status="affected")
            for name in sorted(losing)
            if NodeId("model", name) not in edited
        )
        return with_state((*self._changes, *others), queries)
