"""Traits of the nodes of a plan, each derived once."""

from __future__ import annotations

from millstream.plan.nodes import Aggregate, Node, Opaque, Plan
from millstream.plan.traits.derive import derived_traits
from millstream.plan.traits.values import Traits


def traits_of(node: Node) -> Traits:
    """Return a node's traits, which are kept with it: neither it nor what it reads ever changes."""
    if (kept := node.__dict__.get(_KEPT)) is not None:
        return kept  # type: ignore[no-any-return]  # written below
    waiting = [node]
    while waiting:  # inputs first, however deep they are
        top = waiting[-1]
        known = top.__dict__
        if _KEPT in known:
            waiting.pop()
            continue
        inputs = top.inputs
        missing = [each for each in inputs if _KEPT not in each.__dict__]
        if missing:
            waiting += missing
        else:
            known[_KEPT] = derived_traits(waiting.pop(), [each.__dict__[_KEPT] for each in inputs])
    found: Traits = node.__dict__[_KEPT]
    return found


_KEPT = "traits"


def all_traits(plan: Plan) -> dict[int, Traits]:
    """Return the traits of every node by its `id`."""
    return {id(node): traits_of(node) for node in plan.order}


class KnownTraits:
    """Traits of nodes of which some are told: what they would have, were there no mistake in them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, Traits]] = {}

    def of(self, node: Node) -> Traits:
        """Return a node's traits; those of what it reads are found on the way, however deep."""
        waiting = [node]
        while waiting:
            top = waiting[-1]
            if id(top) in self._known:
                waiting.pop()
                continue
            missing = [each for each in top.inputs if id(each) not in self._known]
            if missing:
                waiting += missing
            else:
                self.note(
                    waiting.pop(), derived_traits(top, [self._known[id(each)][1] for each in top.inputs])
                )
        return self._known[id(node)][1]

    def note(self, node: Node, found: Traits) -> None:
        # The node is kept: another one could get its `id`.
        self._known[id(node)] = (node, found)


def reads_event_time(node: Node) -> bool:
    """Tell whether what a node does depends on the event times of its rows."""
    if isinstance(node, Aggregate):
        # Of its traits: the keys that are event times, or windows of one.
        return bool(traits_of(node).watermarks)
    looks = node.stateful or isinstance(node, Opaque)
    return looks and any(traits_of(each).watermarks for each in node.inputs)
