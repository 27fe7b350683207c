"""Derives the traits of each relation of a plan: mode, key, partitioning, watermark.

Every trait is derived here, from a node and the traits of its inputs.
"""

from __future__ import annotations

from millstream.plan.nodes import Aggregate, Node, Opaque, Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.traits.changing_rows import called_by
from millstream.plan.traits.derive import derived_traits, traits_in_one_query
from millstream.plan.traits.joins import event_times
from millstream.plan.traits.projections import (
    known_columns,
    projected_keys,
    projection_traits,
    window_time_of,
)
from millstream.plan.traits.values import KeyLostError, Mode, NotIncrementalError, Spacing, Traits

__all__ = [
    "KeyLostError",
    "KnownTraits",
    "Mode",
    "NotIncrementalError",
    "Spacing",
    "Traits",
    "all_traits",
    "called_by",
    "event_times",
    "known_columns",
    "projected_keys",
    "projection_traits",
    "reads_event_time",
    "traits_in_one_query",
    "traits_of",
    "window_time_of",
]


def traits_of(node: Node) -> Traits:
    """Return a node's traits, which are cached on the node: it and its inputs are immutable."""
    if (cached := node.__dict__.get(_CACHED)) is not None:
        return cached  # type: ignore[no-any-return]  # written below
    pending = [node]
    while pending:  # inputs first, without recursion
        top = pending[-1]
        attributes = top.__dict__
        if _CACHED in attributes:
            pending.pop()
            continue
        inputs = top.inputs
        missing = [input_node for input_node in inputs if _CACHED not in input_node.__dict__]
        if missing:
            pending += missing
        else:
            attributes[_CACHED] = derived_traits(
                pending.pop(), [input_node.__dict__[_CACHED] for input_node in inputs]
            )
    traits: Traits = node.__dict__[_CACHED]
    return traits


_CACHED = "traits"


def all_traits(plan: Plan) -> dict[int, Traits]:
    """Return the traits of every node by its `id`."""
    return {id(node): traits_of(node) for node in plan.order}


class KnownTraits:
    """Traits of nodes, where those of nodes with errors can be set, so that checks can continue."""

    def __init__(self) -> None:
        self._traits: dict[int, tuple[Node, Traits]] = {}

    def of(self, node: Node) -> Traits:
        """Return a node's traits, after deriving those of its inputs."""
        for current in in_order((node,), self._traits):
            self.set(
                current,
                derived_traits(current, [self._traits[id(input_node)][1] for input_node in current.inputs]),
            )
        return self._traits[id(node)][1]

    def set(self, node: Node, traits: Traits) -> None:
        # With the node itself, so that no other one can get its `id`.
        self._traits[id(node)] = (node, traits)


def reads_event_time(node: Node) -> bool:
    """Return whether a node depends on the event times of its rows."""
    if isinstance(node, Aggregate):
        # Its own watermarks are the keys that are event times, or windows of one.
        return bool(traits_of(node).watermarks)
    uses_times = node.stateful or isinstance(node, Opaque)
    return uses_times and any(traits_of(input_node).watermarks for input_node in node.inputs)
