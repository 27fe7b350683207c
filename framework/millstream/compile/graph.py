"""The dependency graph of a project's nodes."""

from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from msgspec import Struct

from millstream.core.cycles import shortest_cycles
from millstream.core.errors import Diagnostic, DiagnosticNote, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.outputs.kinds import Sink
from millstream.outputs.registry import Materialization, materialization_of
from millstream.project.values import Kind


class GraphNode(Struct, frozen=True, kw_only=True):
    """The properties of a model, source, seed, test, exposure or metric that the graph and selectors use."""

    id: NodeId
    """`model.orders`, `source.shop.events`, `seed.countries`, `test.…`, `unit_test.…`, `exposure.…`, …"""
    kind: Kind
    name: str
    path: str
    """The path of the file, relative to the project, with `/`."""
    fqn: tuple[str, ...]
    """Project, folders, name: what `fqn:` and bare selectors match."""
    tags: tuple[str, ...] = ()
    config: dict[str, Any] = {}
    depends_on: tuple[NodeId, ...] = ()
    test: str = ""
    """What a generic test checks: `not_null`; empty for a test that is an SQL file of its own."""

    @property
    def materialization(self) -> Materialization | None:
        """What a model stores; None for other nodes."""
        return materialization_of(self.name, self.config) if self.kind == "model" else None

    @property
    def sink(self) -> Sink | None:
        """How a model's records are sent; None without records."""
        stored = self.materialization
        return stored.sink if stored is not None else None


Locate = Callable[[NodeId, NodeId], Location | None]
"""Returns where a node (the first id) refers to another."""

_SHOWN = 12
"""A longer cycle is shown by its first steps and its last."""


class Graph(Struct, frozen=True):
    """Nodes with their neighbours. Undefined nodes are left out; the ref to them is the error."""

    nodes: dict[NodeId, GraphNode]
    parents: dict[NodeId, tuple[NodeId, ...]]
    children: dict[NodeId, tuple[NodeId, ...]]
    levels: tuple[tuple[NodeId, ...], ...]
    """Each level only depends on earlier levels; within a level, ids are sorted."""

    @property
    def order(self) -> tuple[NodeId, ...]:
        """The ids, each after all that it depends on."""
        return tuple(key for level in self.levels for key in level)

    def ancestors(self, start: NodeId) -> frozenset[NodeId]:
        """Return what a node depends on."""
        return walk_graph((start,), self.parents)


def build_graph(nodes: Mapping[NodeId, GraphNode]) -> Graph:
    """Connect the nodes; raise an error for a cycle (see `find_cycles` for one with locations)."""
    parents = {key: tuple(sorted({p for p in nodes[key].depends_on if p in nodes})) for key in sorted(nodes)}
    children: dict[NodeId, list[NodeId]] = {key: [] for key in parents}
    for key, its_parents in parents.items():
        for parent in its_parents:
            children[parent].append(key)
    sorter = TopologicalSorter(parents)
    try:
        sorter.prepare()
    except CycleError:
        raise MillstreamError(*find_cycles(nodes)) from None
    levels = []
    while sorter.is_active():
        level = tuple(sorted(sorter.get_ready()))
        sorter.done(*level)
        levels.append(level)
    by_id = {key: nodes[key] for key in parents}
    return Graph(by_id, parents, {key: tuple(ids) for key, ids in children.items()}, tuple(levels))


def walk_graph(
    starts: Iterable[NodeId], neighbours: Mapping[NodeId, tuple[NodeId, ...]], depth: int | None = None
) -> frozenset[NodeId]:
    """Return the nodes that are reached over 1 to `depth` edges, in one walk for all starts together."""
    level = set(starts)
    seen = set(level)
    reached: set[NodeId] = set()
    while level and depth != 0:
        below = {other for node in level for other in neighbours[node]}
        reached |= below
        level = below - seen
        seen |= level
        depth = None if depth is None else depth - 1
    return frozenset(reached)


def find_cycles(
    nodes: Mapping[NodeId, GraphNode], locate: Locate = lambda _child, _parent: None
) -> list[Diagnostic]:
    """Report a shortest cycle of each strongly connected component, and each node that reads itself."""
    paths = shortest_cycles({key: node.depends_on for key, node in nodes.items()})
    return [_report(cycle, nodes, locate) for cycle in paths]


def _report(cycle: tuple[NodeId, ...], nodes: Mapping[NodeId, GraphNode], locate: Locate) -> Diagnostic:
    steps = [f"{key} ({nodes[key].path})" for key in cycle]
    if len(steps) > _SHOWN:
        steps[_SHOWN - 2 : -1] = [f"… {len(steps) - _SHOWN + 1} more …"]
    path = " → ".join([*steps, str(cycle[0])])
    if len(cycle) == 1:
        message = f"{cycle[0]} depends on itself: {path}"
        remedy = "read its inputs instead: another model, a seed or a source"
        return Diagnostic("MS501", message, locate(cycle[0], cycle[0]), remedy)
    refs = list(zip(cycle[1:], (*cycle[2:], cycle[0]), strict=True))[: _SHOWN - 1]
    notes = (
        DiagnosticNote(f"{child} refers to {parent} here", locate(child, parent)) for child, parent in refs
    )
    message = f"{len(cycle)} nodes depend on each other in a cycle: {path}"
    remedy = "remove one of these refs, or move what both need into a separate model"
    located = tuple(note for note in notes if note.location)
    return Diagnostic("MS501", message, locate(cycle[0], cycle[1]), remedy, notes=located)
