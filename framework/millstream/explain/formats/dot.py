"""A drawing for Graphviz: `millstream explain --format dot | dot -Tsvg`; a cluster for each query."""

from __future__ import annotations

from millstream.explain.formats.wrap import shown
from millstream.explain.topology import Drawing, DrawnNode

_SHAPES = {"topic": "cylinder", "sink": "cylinder", "table": "cylinder", "seed": "cylinder"}


def dot(found: Drawing) -> str:
    nodes = {node.id: _node(node) for node in found.nodes}
    lines = ["digraph topology {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    grouped: set[str] = set()
    for index, group in enumerate(found.groups):
        lines += [f"  subgraph cluster_{index} {{", f"    label={_quoted(f'query {group.name}')};"]
        lines += [f"    {nodes[name]}" for name in group.nodes]
        lines.append("  }")
        grouped.update(group.nodes)
    lines += [f"  {line}" for name, line in nodes.items() if name not in grouped]
    lines += [f"  {_quoted(edge.source)} -> {_quoted(edge.target)};" for edge in found.edges]
    return "\n".join([*lines, "}"])


def _node(node: DrawnNode) -> str:
    shape = f", shape={_SHAPES[node.kind]}" if node.kind in _SHAPES else ""
    bold = ", style=bold" if node.state else ""
    tip = "\n".join([node.line, *(f"{fact}: {text}" for fact, text in node.details)])
    label = f"{_escaped(node.id)}\\n{_escaped(_short(node.line))}"
    return f'{_quoted(node.id)} [label="{label}", tooltip="{_escaped(tip, keep_lines=True)}"{shape}{bold}];'


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str, *, keep_lines: bool = False) -> str:
    """Write a user's text so that no backslash of it means anything."""
    parts = text.split("\n") if keep_lines else [text]
    return "\\n".join(shown(part).replace("\\", "\\\\").replace('"', '\\"') for part in parts)
