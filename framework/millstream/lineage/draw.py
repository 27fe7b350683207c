"""Lineage as mermaid, as Graphviz and as data for programs."""

from __future__ import annotations

from typing import Any

from millstream.lineage.values import Edge, End, Lineage
from millstream.text import clean


def mermaid(found: Lineage) -> str:
    """Draw for mermaid, which GitHub shows in Markdown."""
    ids = {end: f"n{number}" for number, end in enumerate(found.ends)}
    lines = ["flowchart LR", *(f'  {ids[end]}["{_mermaid_text(str(end))}"]' for end in ids)]
    for edge in found.edges:
        arrow = f"-->|{edge.kind}|" if edge.kind else "-->"
        lines.append(f"  {ids[edge.parent]} {arrow} {ids[edge.child]}")
    return "\n".join(lines)


def _mermaid_text(text: str) -> str:
    return clean(text).replace("#", "#35;").replace('"', "#quot;").replace("\n", " ")


def dot(found: Lineage) -> str:
    """Draw for Graphviz: `millstream lineage --format dot | dot -Tsvg`."""
    lines = [
        "digraph lineage {",
        "  rankdir=LR;",
        "  node [shape=box];",
        *(f"  {_dot(str(e))};" for e in found.ends),
    ]
    for edge in found.edges:
        label = f" [label={_dot(edge.kind)}]" if edge.kind else ""
        lines.append(f"  {_dot(str(edge.parent))} -> {_dot(str(edge.child))}{label};")
    return "\n".join([*lines, "}"])


def _dot(text: str) -> str:
    escaped = clean(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def as_data(found: Lineage) -> dict[str, Any]:
    return {
        "root": _end(found.root) if found.root else None,
        "nodes": [_end(end) for end in found.ends],
        "upstream": [_edge(edge) for edge in found.upstream],
        "downstream": [_edge(edge) for edge in found.downstream],
    }


def _end(end: End) -> dict[str, Any]:
    return {"id": str(end), "node": end.node, "column": end.column or None}


def _edge(edge: Edge) -> dict[str, Any]:
    return {"parent": str(edge.parent), "child": str(edge.child), "kind": edge.kind or None}
