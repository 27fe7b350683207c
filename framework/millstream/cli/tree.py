"""Lineage as a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.text import Text

from millstream.compile.lineage.values import VALUE_KINDS, Lineage, LineageEdge, LineageEnd
from millstream.core.node_id import NodeId
from millstream.core.text import clean_text

_COLORS = {"source": "green", "seed": "yellow", "model": "blue", "exposure": "magenta", "metric": "magenta"}
Describe = Callable[[LineageEnd], str]


def draw_lineage(lineage: Lineage, describe: Describe = lambda _end: "") -> Text:
    """Draw upstream and downstream; branches that were already drawn are not repeated."""
    if lineage.root is None:
        children = {edge.child for edge in lineage.downstream}
        tops = dict.fromkeys(
            [*(e.parent for e in lineage.downstream if e.parent not in children), *lineage.single]
        )
        below = _neighbours(lineage.downstream, up=False)
        lines: list[Text] = []
        drawn: set[LineageEnd] = set()
        for top in tops:
            lines += [_label(top, "", describe), *_branches(top, below, describe, drawn)]
        return Text("\n").join(lines)
    lines = [_label(lineage.root, "", describe)]
    for title, edges, up in (("upstream", lineage.upstream, True), ("downstream", lineage.downstream, False)):
        if edges:
            lines += [
                Text(title, "bold"),
                *_branches(lineage.root, _neighbours(edges, up=up), describe, set()),
            ]
    return Text("\n").join(lines)


Neighbours = Mapping[LineageEnd, Sequence[tuple[str, LineageEnd]]]


def _neighbours(edges: Iterable[LineageEdge], *, up: bool) -> Neighbours:
    neighbours: dict[LineageEnd, dict[tuple[str, LineageEnd], None]] = defaultdict(dict)
    for edge in edges:
        near, far = (edge.child, edge.parent) if up else (edge.parent, edge.child)
        neighbours[near][edge.kind, far] = None
    return {near: tuple(fars) for near, fars in neighbours.items()}


def _branches(
    root: LineageEnd, neighbours: Neighbours, describe: Describe, drawn: set[LineageEnd]
) -> list[Text]:
    """Return the lines below a root; not recursive, because a graph may be deeper than Python's stack."""
    lines: list[Text] = []
    rows: set[NodeId] = set()
    waiting = _children(root, neighbours, "", rows)
    while waiting:
        kind, end, indent, last = waiting.pop()
        leaf = bool(kind) and kind not in VALUE_KINDS
        again = not leaf and end in drawn and bool(neighbours.get(end))
        line = Text(f"{indent}{'└── ' if last else '├── '}", "dim").append_text(_label(end, kind, describe))
        lines.append(line.append("  (see above)", "dim") if again else line)
        if not again and not leaf:
            drawn.add(end)
            waiting += _children(end, neighbours, indent + ("    " if last else "│   "), rows)
    return lines


def _children(
    end: LineageEnd, neighbours: Neighbours, indent: str, rows: set[NodeId]
) -> list[tuple[str, LineageEnd, str, bool]]:
    children = list(neighbours.get(end, ()))
    if end.column and end.node not in rows:
        # What decides which rows exist is the same for all columns of a node: draw it below the first one.
        rows.add(end.node)
        children += neighbours.get(LineageEnd(end.node), ())
    return [(kind, far, indent, i == len(children) - 1) for i, (kind, far) in enumerate(children)][::-1]


def _label(end: LineageEnd, kind: str, describe: Describe) -> Text:
    text = Text.assemble((f"{kind} ", "cyan") if kind else "")
    text.append(clean_text(str(end)), _COLORS.get(end.node.kind, ""))
    note = describe(end)
    return text.append(f"  {clean_text(note)}", "dim") if note else text
