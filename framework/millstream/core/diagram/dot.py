"""Writes diagrams for Graphviz (`dot -Tsvg`), with a cluster for each group."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.diagram.values import Diagram, DiagramEdge, DiagramNode, Line, Shape, cut_text
from millstream.core.text import clean_text

_SHAPES: dict[Shape, str] = {
    "box": "",
    "store": "shape=cylinder",
    "state": "style=bold",
    "hexagon": "shape=hexagon",
}
_LINES: dict[Line, str] = {"plain": "", "added": "style=bold", "removed": "style=dashed"}
_LONGEST = 80


def write_dot(diagram: Diagram) -> str:
    return "\n".join(["digraph topology {", *(f"  {line}" for line in _lines(diagram)), "}"])


def _lines(diagram: Diagram) -> Iterator[str]:
    yield "rankdir=LR;"
    yield 'node [shape=box, fontname="sans-serif"];'
    nodes = {node.id: _node(node) for node in diagram.nodes}
    for index, group in enumerate(diagram.groups):
        yield f"subgraph cluster_{index} {{"
        yield f"  label={_quoted(group.title)};"
        yield from (f"  {nodes.pop(name)}" for name in group.nodes)
        yield "}"
    yield from nodes.values()
    yield from map(_edge, diagram.edges)


def _node(node: DiagramNode) -> str:
    first, *others = node.lines
    label = _quoted(first, *(cut_text(line, _LONGEST) for line in others))
    tip = f"tooltip={_quoted(*node.tip.splitlines())}" if node.tip else ""
    return f"{_quoted(node.id)}{_attributes(f'label={label}', tip, _SHAPES[node.shape])};"


def _edge(edge: DiagramEdge) -> str:
    label = f"label={_quoted(edge.label)}" if edge.label else ""
    return f"{_quoted(edge.source)} -> {_quoted(edge.target)}{_attributes(label, _LINES[edge.line])};"


def _attributes(*attributes: str) -> str:
    joined = ", ".join(filter(None, attributes))
    return f" [{joined}]" if joined else ""


def _quoted(*lines: str) -> str:
    r"""Quote lines of text for DOT, joined by `\n`."""
    escaped = "\\n".join(clean_text(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{escaped}"'
