"""Finds the lineage of nodes or columns in a manifest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from millstream.compile.lineage.values import VALUE_KINDS, Lineage, LineageEdge, LineageEnd
from millstream.compile.manifest import Manifest, ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.core.node_id import NodeId

_IGNORED = {"test", "unit_test"}
Step = Callable[[LineageEnd], Iterable[LineageEdge]]


def find_end(manifest: Manifest, name: str) -> LineageEnd:
    """Find a node or column by name: `orders`, `model.orders`, `shop.clicks`, `orders.amount`."""
    names = _names(manifest)
    if node := names.get(name):
        return LineageEnd(node)
    before, _, column = name.rpartition(".")
    if node := names.get(before):
        columns = {declared.name.lower(): declared.name for declared in manifest.nodes[node].columns}
        if column.lower() in columns:
            return LineageEnd(node, columns[column.lower()])
        message = f"{node} has no column '{column}'"
        available = ", ".join(columns.values())
        remedy = did_you_mean(
            column, columns.values(), f"columns: {available}" if available else "it has no columns"
        )
        raise MillstreamError(Diagnostic("MS705", message, None, remedy))
    message = f"there is no model, source or seed '{name}'"
    node_names = [node.name for node in manifest.nodes.values() if node.kind not in _IGNORED]
    remedy = did_you_mean(before or name, [*node_names, *names], "`millstream ls` lists all names")
    raise MillstreamError(Diagnostic("MS705", message, None, remedy))


def _names(manifest: Manifest) -> dict[str, NodeId]:
    """Return ids by all names of nodes; if two share a name, a model comes before a seed, then others."""
    ids: dict[str, NodeId] = {}
    nodes = [node for node in manifest.nodes.values() if node.kind not in _IGNORED]
    for node in sorted(nodes, key=lambda node: {"model": 0, "seed": 1}.get(node.kind, 2)):
        for name in (str(node.id), node.name, node.id.name):
            ids.setdefault(name, node.id)
    return ids


def lineage_of(
    manifest: Manifest,
    root: LineageEnd,
    *,
    upstream: bool = True,
    downstream: bool = True,
    depth: int | None = None,
) -> Lineage:
    """Return what a node or a column depends on, and what depends on it."""
    above, below = _column_steps(manifest) if root.column else _node_steps(manifest)
    return Lineage(
        root,
        tuple(_walk(root, above, lambda edge: edge.parent, depth)) if upstream else (),
        tuple(_walk(root, below, lambda edge: edge.child, depth)) if downstream else (),
    )


def whole_graph(manifest: Manifest, ids: Collection[NodeId]) -> Lineage:
    """Return the edges between the given nodes, without tests."""
    nodes = dict.fromkeys(id_ for id_ in ids if manifest.nodes[id_].kind not in _IGNORED)
    edges = tuple(
        LineageEdge(LineageEnd(parent), LineageEnd(id_))
        for id_ in nodes
        for parent in manifest.nodes[id_].depends_on
        if parent in nodes
    )
    joined = {end for edge in edges for end in (edge.parent.node, edge.child.node)}
    return Lineage(None, (), edges, tuple(LineageEnd(id_) for id_ in nodes if id_ not in joined))


def _walk(
    root: LineageEnd, step: Step, far: Callable[[LineageEdge], LineageEnd], depth: int | None
) -> Iterable[LineageEdge]:
    """Yield the edges that can be reached, nearest first."""
    level, seen = [root], {root}
    while level and depth != 0:
        following: list[LineageEnd] = []
        for end in level:
            for edge in step(end):
                yield edge
                other = far(edge)
                # For a column, edges that decide which rows exist pass no values, and end there.
                if other not in seen and (not root.column or edge.kind in VALUE_KINDS):
                    seen.add(other)
                    following.append(other)
        level, depth = following, None if depth is None else depth - 1


def _node_steps(manifest: Manifest) -> tuple[Step, Step]:
    above: dict[NodeId, list[LineageEdge]] = {}
    below: dict[NodeId, list[LineageEdge]] = defaultdict(list)
    for node in manifest.nodes.values():
        if node.kind in _IGNORED:
            continue
        above[node.id] = [
            LineageEdge(LineageEnd(parent), LineageEnd(node.id))
            for parent in node.depends_on
            if parent in manifest.nodes
        ]
        for edge in above[node.id]:
            below[edge.parent.node].append(edge)
    return lambda end: above[end.node], lambda end: below[end.node]


def _column_steps(manifest: Manifest) -> tuple[Step, Step]:
    names = {id_: {c.name.lower(): c.name for c in node.columns} for id_, node in manifest.nodes.items()}

    def end(node: NodeId, column: str) -> LineageEnd:
        return LineageEnd(node, names.get(node, {}).get(column.lower(), column))

    above: dict[LineageEnd, list[LineageEdge]] = defaultdict(list)
    below: dict[LineageEnd, list[LineageEdge]] = defaultdict(list)
    for node in manifest.nodes.values():
        for edge in _column_edges(node, end):
            above[edge.child].append(edge)
            below[edge.parent].append(edge)
    visited: set[NodeId] = set()

    def up(child: LineageEnd) -> Iterable[LineageEdge]:
        yield from above[child]
        if child.node not in visited:
            # What decides which rows exist is the same for all columns of a node: yield it once.
            visited.add(child.node)
            yield from above[LineageEnd(child.node)]

    return up, lambda parent: below[parent]


def _column_edges(node: ManifestNode, end: Callable[[NodeId, str], LineageEnd]) -> Iterable[LineageEdge]:
    for column in node.columns:
        for influence in column.influences:
            yield LineageEdge(
                end(influence.relation, influence.column), LineageEnd(node.id, column.name), influence.kind
            )
    for influence in node.influences:
        yield LineageEdge(end(influence.relation, influence.column), LineageEnd(node.id), influence.kind)
