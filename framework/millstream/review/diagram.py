"""What changed and its neighbours, as a mermaid flowchart, which GitHub and GitLab draw."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.explain.formats.mermaid import escaped
from millstream.manifest import Manifest
from millstream.review.values import NodeChange

_MOST = 40
"""A larger one is no help."""
_SHAPES = {"source": ("[(", ")]"), "sink": ("[(", ")]"), "table": ("[(", ")]"), "exposure": ("{{", "}}")}
_DRAWN = {"model", "source", "seed", "exposure"}
_CLASSES = {
    "added": "fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
    "removed": "fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-dasharray:4 3",
    "changed": "fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    "affected": "stroke:#9a6700,stroke-dasharray:4 3",
}
"""Colours that are read in light and in dark pages."""


def diagram(old: Manifest, new: Manifest, nodes: Mapping[str, NodeChange]) -> str:
    """Return a drawing; empty where no edge can have changed."""
    changed = {id_: each for id_, each in nodes.items() if each.kind in _DRAWN}
    before, after = _edges(old), _edges(new)
    edges = {edge for edge in before | after if any(end in changed for end in edge)}
    ids = sorted({end for edge in edges for end in edge} | set(changed))
    if not changed or len(ids) > _MOST:
        return ""
    names = {id_: f"n{index}" for index, id_ in enumerate(ids)}
    lines = ["flowchart LR"]
    for id_ in ids:
        node = new.nodes.get(id_) or old.nodes.get(id_)
        kind = str(node.config.get("materialized") or node.kind) if node else "model"
        opening, closing = _SHAPES.get(kind, ("[", "]"))
        style = _style(changed.get(id_))
        label = escaped(id_.partition(".")[2])
        said = f"<br/>{escaped(kind)}" if kind not in {"model", "view"} else ""
        lines.append(f'  {names[id_]}{opening}"{label}{said}"{closing}{f":::{style}" if style else ""}')
    for parent, child in sorted(edges):
        arrow = "-->" if (parent, child) in before & after else "==>" if (parent, child) in after else "-.->"
        lines.append(f"  {names[parent]} {arrow} {names[child]}")
    used = dict.fromkeys(filter(None, (_style(each) for each in changed.values())))
    lines += [f"  classDef {name} {_CLASSES[name]}" for name in _CLASSES if name in used]
    return "\n".join(lines)


def _edges(manifest: Manifest) -> set[tuple[str, str]]:
    return {(p, n.id) for n in manifest.nodes.values() if n.kind in _DRAWN for p in n.depends_on}


def _style(change: NodeChange | None) -> str:
    if change is None:
        return ""
    return "changed" if change.status == "renamed" else change.status
