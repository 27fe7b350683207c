"""The optimized plan in the format of Kafka Streams' `Topology.describe()`, for its viewers.

A query is a sub-topology. A shuffle is a processor, since Spark needs no topic for it. State and rows at rest
that a stream is joined with are stores, named after models, seeds and topics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from millstream.explain.topology import Drawing, DrawnNode

_STORES = frozenset(("seed", "table", "given"))


def kafka_streams(drawing: Drawing) -> str:
    names = _names(drawing)
    nodes = {node.id: node for node in drawing.nodes}
    groups = [group.nodes for group in drawing.groups]
    grouped = {name for group in groups for name in group}
    if rest := [node.id for node in drawing.nodes if node.id not in grouped]:
        groups.append(tuple(rest))
    inputs: dict[str, list[str]] = {name: [] for name in nodes}
    for edge in drawing.edges:
        inputs[edge.target].append(edge.source)
    lines: list[str] = []
    for index, group in enumerate(groups):
        # Kafka Streams writes the first sub-topology with one more blank.
        lines.append(f"{'   ' if index == 0 else '  '}Sub-topology: {index}")
        lines += _sub_topology([nodes[name] for name in group], inputs, nodes, names)
        lines.append("")
    return "\n".join(["Topologies:", *lines])


def _sub_topology(
    group: Sequence[DrawnNode],
    inputs: dict[str, list[str]],
    nodes: dict[str, DrawnNode],
    names: dict[str, str],
) -> Iterable[str]:
    before: dict[str, list[str]] = {node.id: [] for node in group}
    after: dict[str, list[str]] = {node.id: [] for node in group}
    stores: dict[str, list[str]] = {node.id: _store(node) for node in group}
    for target in (node.id for node in group):
        for source in inputs[target]:
            if _at_rest(nodes[source]):
                stores[target] += stores[source]
            else:
                before[target].append(names[source])
                after[source].append(names[target])
    for node in group:
        if _at_rest(node):
            continue
        name = names[node.id]
        if node.kind == "topic":
            yield f"    Source: {name} (topics: [{', '.join(map(_plain, node.topic.split(', ')))}])"
        elif node.kind == "sink":
            yield f"    Sink: {name} (topic: {_plain(node.topic)})"
        else:
            node_store = [f"{name}.state"] if node.state else []
            store_names = ", ".join(dict.fromkeys([*node_store, *stores[node.id]]))
            yield f"    Processor: {name} (stores: [{store_names}])"
        if node.kind != "sink":
            yield f"      --> {_joined_names(after[node.id])}"
        if node.kind != "topic":
            yield f"      <-- {_joined_names(before[node.id])}"


def _at_rest(node: DrawnNode) -> bool:
    """Tell whether a node has rows at rest, so that it is part of a store."""
    return node.mode == "static" and not node.output


def _store(node: DrawnNode) -> list[str]:
    return [_plain(node.relation.last_name or node.id)] if node.kind in _STORES else []


def _joined_names(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"


def _names(drawing: Drawing) -> dict[str, str]:
    """Return names without syntax; they are unique, since viewers merge a topic or store and a processor."""
    names: dict[str, str] = {}
    used = {_plain(node.topic) for node in drawing.nodes}
    used |= {store for node in drawing.nodes for store in _store(node)}
    for node in drawing.nodes:
        name = _plain(node.id)
        if name in used:
            name = next((n for n in (f"{name}.{node.kind}", f"{name}.rows") if n not in used), name)
        while name in used:
            name += "_"
        used.add(name)
        names[node.id] = name
    return names


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)
