"""A drawing as a mermaid flowchart, which GitHub shows in Markdown: a subgraph for each query."""

from __future__ import annotations

from millstream.explain.formats.wrap import shown
from millstream.explain.topology import Drawing, DrawnNode

_SHAPES = {"topic": ("[(", ")]"), "sink": ("[(", ")]"), "table": ("[(", ")]"), "seed": ("[(", ")]")}
_STATES = ("[[", "]]")


def mermaid(found: Drawing) -> str:
    # Ids of mermaid can't hold every name, and some words mean something: they are numbers, the labels names.
    ids = {node.id: f"n{index}" for index, node in enumerate(found.nodes)}
    nodes = {node.id: _node(ids[node.id], node) for node in found.nodes}
    lines = ["flowchart LR"]
    grouped: set[str] = set()
    for index, group in enumerate(found.groups):
        lines.append(f'  subgraph q{index}["{escaped(f"query {group.name}")}"]')
        lines += [f"    {nodes[name]}" for name in group.nodes]
        lines.append("  end")
        grouped.update(group.nodes)
    lines += [f"  {line}" for name, line in nodes.items() if name not in grouped]
    lines += [f"  {ids[edge.source]} --> {ids[edge.target]}" for edge in found.edges]
    return "\n".join(lines)


def _node(name: str, node: DrawnNode) -> str:
    opening, closing = _STATES if node.state else _SHAPES.get(node.kind, ("[", "]"))
    said = [f"<b>{escaped(node.id)}</b>", escaped(_short(node.line))]
    said += [f"{fact}: {escaped(_short(text))}" for fact, text in node.details if fact in {"key", "state"}]
    return f'{name}{opening}"{"<br/>".join(said)}"{closing}'


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"


def escaped(text: str) -> str:
    """Write a user's text as entities where it could be taken for mermaid's syntax, Markdown or HTML."""
    return "".join(c if c.isalnum() or c in " .,:_-=()…" else f"#{ord(c)};" for c in shown(text))
