"""Writes diagrams as Mermaid flowcharts, which GitHub and GitLab show in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.diagram.values import Diagram, DiagramEdge, DiagramNode, Line, Shape, cut_text
from millstream.core.text import clean_text

_SHAPES: dict[Shape, tuple[str, str]] = {
    "box": ("[", "]"),
    "store": ("[(", ")]"),
    "state": ("[[", "]]"),
    "hexagon": ("{{", "}}"),
}
_ARROWS: dict[Line, str] = {"plain": "-->", "added": "==>", "removed": "-.->"}
_LONGEST = 120


def write_mermaid(diagram: Diagram) -> str:
    return "\n".join(["flowchart LR", *_lines(diagram)])


def _lines(diagram: Diagram) -> Iterator[str]:
    # Mermaid's ids allow few characters and some words are reserved, so ids are numbers.
    ids = {node.id: f"n{index}" for index, node in enumerate(diagram.nodes)}
    nodes = {node.id: _node(ids[node.id], node) for node in diagram.nodes}
    for index, group in enumerate(diagram.groups):
        yield f'  subgraph q{index}["{_escaped(group.title)}"]'
        yield from (f"    {nodes.pop(name)}" for name in group.nodes)
        yield "  end"
    yield from (f"  {line}" for line in nodes.values())
    yield from (f"  {ids[edge.source]} {_arrow(edge)} {ids[edge.target]}" for edge in diagram.edges)
    used = {node.style for node in diagram.nodes}
    yield from (f"  classDef {name} {css}" for name, css in diagram.styles.items() if name in used)


def _node(name: str, node: DiagramNode) -> str:
    opening, closing = _SHAPES[node.shape]
    first, *others = node.lines
    lines = [f"<b>{_escaped(first)}</b>" if node.heading else _escaped(first)]
    lines += [_escaped(cut_text(line, _LONGEST)) for line in others]
    lines += [f"{_escaped(title)}: {_escaped(cut_text(text, _LONGEST))}" for title, text in node.notes]
    style = f":::{node.style}" if node.style else ""
    return f'{name}{opening}"{"<br/>".join(lines)}"{closing}{style}'


def _arrow(edge: DiagramEdge) -> str:
    return f"{_ARROWS[edge.line]}|{_escaped(edge.label)}|" if edge.label else _ARROWS[edge.line]


def _escaped(text: str) -> str:
    """Escape characters that Mermaid, Markdown or HTML could interpret as syntax."""
    return "".join(c if c.isalnum() or c in " .,:_-=()…" else f"#{ord(c)};" for c in clean_text(text))
