"""A drawing as a tree of lines, from each output down to its sources; shared nodes are drawn once."""

from __future__ import annotations

from collections import Counter

from millstream.core.text import clean
from millstream.explain.formats.wrap import wrapped
from millstream.explain.topology import Drawing, DrawnNode


class Tree:
    """Draws output by output and remembers what was drawn."""

    def __init__(self, drawing: Drawing, width: int) -> None:
        self.width = width
        self.nodes = {node.id: node for node in drawing.nodes}
        self.inputs: dict[str, list[str]] = {node.id: [] for node in drawing.nodes}
        for edge in drawing.edges:
            self.inputs[edge.target].append(edge.source)
        self.readers = Counter(edge.source for edge in drawing.edges)
        self.drawn: set[str] = set()

    def lines(self, output: str) -> list[str]:
        """Return the lines of an output; a chain goes straight down, other inputs branch off before it."""
        lines: list[str] = []
        # Each entry: a node, the indent of its lines, and the prefix of its first line.
        waiting = [(output, "", "")]
        while waiting:
            name, indent, head = waiting.pop()
            inputs = self.inputs[name]
            again = name in self.drawn and bool(inputs)
            below = not again and bool(inputs)
            lines += self._node(self.nodes[name], indent, head, again=again, below=below)
            if again:
                continue
            if self.readers[name] > 1:
                self.drawn.add(name)
            if inputs:
                straight, *branches = inputs
                waiting.append((straight, indent, ""))
                waiting += [(branch, indent + "│  ", indent + "├─ ") for branch in reversed(branches)]
        return lines

    def _node(self, node: DrawnNode, indent: str, head: str, *, again: bool, below: bool) -> list[str]:
        shared = self.readers[node.id] > 1
        if again:
            text = f"↑ {clean(node.id)} (above)"
        else:
            mark = "◆" if shared else "■" if node.output else "·"
            name = f"{clean(node.id)} = " if shared else ""
            text = f"{mark} {name}{clean(node.line)}"
            if shared:
                text += f" (read {self.readers[node.id]} times)"
        return wrapped(text, self.width, head or indent, indent + ("│   " if below else "    "))
