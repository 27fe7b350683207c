"""Finds the columns of sources that each model reads: if one of them is bad, a record is bad for the model.

They follow from the models as written, so no rule, setting or other model changes them. The columns that a
view selects and its reader doesn't read do not count, unless the view keeps state: its readers share it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.needs import Names, of_input
from millstream.plan.nodes import Decode, Node, Output, ReadColumns, Watermark
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import reads_event_time, traits_of

ReadsBySource = dict[NodeId, ReadColumns]
"""By relation."""


class PlanUnit(Struct, frozen=True, eq=False):
    """The nodes of a stored model, or of a view that keeps state, without those of other such views."""

    root: Node
    order: tuple[Node, ...]
    """Its nodes, and the roots of the views with state that it reads."""
    reads: ReadsBySource
    below: tuple[int, ...]
    """The `id`s of these roots."""


class PlanUnits:
    """The units of a plan; that of a stored model is found when it is needed."""

    def __init__(self, outputs: Sequence[Output], views: Iterable[Node]) -> None:
        """Find the views with state among `views`, which are inlined, in topological order."""
        self._outputs = {output.model: output for output in outputs}
        self._views: dict[int, PlanUnit] = {}
        """Views with state, each after those that it reads."""
        self._stored: dict[NodeId, PlanUnit] = {}
        for view in views:
            if any(_keeps_state(node) for node in in_order((view,), self._views)):
                self._views[id(view)] = _unit(view, self._views)

    def stored(self, model: NodeId) -> PlanUnit:
        if model not in self._stored:
            self._stored[model] = _unit(self._outputs[model], self._views)
        return self._stored[model]

    @property
    def all(self) -> list[PlanUnit]:
        return [*self._views.values(), *map(self.stored, self._outputs)]

    def below(self, model: NodeId) -> list[PlanUnit]:
        """Return a stored model with all views with state and models of topics that it reads."""
        units: dict[int, PlanUnit] = {}
        waiting = [self.stored(model)]
        while waiting:
            unit = waiting.pop()
            if id(unit) not in units:
                units[id(unit)] = unit
                waiting += [self._views[view_id] for view_id in unit.below]
                waiting += [self.stored(relation) for relation in unit.reads if relation in self._outputs]
        return list(units.values())


def all_reads(units: Iterable[PlanUnit]) -> ReadsBySource:
    """Return what some units read."""
    reads: ReadsBySource = {}
    for unit in units:
        for relation, columns in unit.reads.items():
            reads[relation] = reads[relation] | columns if relation in reads else columns
    return reads


def _keeps_state(node: Node) -> bool:
    return node.stateful and traits_of(node).mode != "static"


def _unit(root: Node, views: Mapping[int, PlanUnit]) -> PlanUnit:
    below: dict[int, Node] = {}
    order = _order(root, views, below)
    reads: ReadsBySource = {}
    for node, names in _needs(order, below):
        if isinstance(node, Decode):
            columns = _read(node, names)
            reads[node.relation] = reads[node.relation] | columns if node.relation in reads else columns
    return PlanUnit(root, tuple(order), reads, tuple(below))


def _order(root: Node, views: Container[int], below: dict[int, Node]) -> list[Node]:
    """Return the nodes of a unit, inputs first, after the roots of views below it, which are collected."""
    inner = in_order(root.inputs, views)
    for node in (*inner, root):
        below |= {id(input_node): input_node for input_node in node.inputs if id(input_node) in views}
    return [*below.values(), *inner, root]


def _needs(order: Sequence[Node], below: Container[int]) -> Iterator[tuple[Node, Names]]:
    """Yield nodes with the columns that are read of them."""
    timed = _timed(order)
    needed: dict[int, Names] = {id(order[-1]): set(order[-1].by_name)}
    for node in reversed(order):
        names = needed.get(id(node), set())
        if keys := traits_of(node).keys:
            names.update(map(str.lower, keys))
        yield node, names
        if id(node) in below:
            continue
        for index, input_node in enumerate(node.inputs):
            unused = isinstance(node, Watermark) and id(node) not in timed
            needed.setdefault(id(input_node), set()).update(names if unused else of_input(node, index, names))


def _timed(order: Sequence[Node]) -> set[int]:
    """Return the `id`s of nodes below a step that uses their event time: other watermarks read no column."""
    ids: set[int] = set()
    for node in reversed(order):
        view = isinstance(node, Output) and not node.materialization.stored_as
        if view or id(node) in ids or reads_event_time(node):
            ids.update(map(id, node.inputs))
    return ids


def _read(node: Decode, names: Names) -> ReadColumns:
    key = "_key" in names and "_key" in node.metadata
    key = key or (node.key is not None and node.key.name.lower() in names)
    return ReadColumns(
        node.relation, tuple(field for field in node.fields if field.name.lower() in names), key
    )
