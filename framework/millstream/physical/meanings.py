"""What columns and states are made of, down to sources, told so that equal texts mean the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from millstream.expressions import Expression, Ref, render
from millstream.plan.nodes import (
    Aggregate,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Item,
    Join,
    Node,
    Project,
    Stateful,
    Union,
)
from millstream.plan.traits import traits_of

Facts = list[tuple[str, str]]


class Meanings:
    """What columns are made of, down to sources; each is told once."""

    def __init__(self, functions: Mapping[str, str], roots: Mapping[str, Node] | None = None) -> None:
        self.functions = functions
        self._roots = roots or {}
        """By model: what its topic holds. Without it, a topic is where a column begins."""
        self._known: dict[tuple[int, str], str] = {}
        self._told: set[int] = set()
        """The projections whose columns are all known."""

    def tell(self, order: Iterable[Node]) -> None:
        """Tell columns inputs first, so that a long chain of projections is no deep recursion."""
        for node in order:
            if isinstance(node, Project) and id(node) not in self._told:
                self._told.add(id(node))
                for column in node.columns:
                    self.column(node, column.name)

    # -- what an operator keeps

    def facts(self, node: Node, readers: Mapping[int, list[Node]]) -> Facts:
        match node:
            case Aggregate():
                return [*self._aggregate(node), *self._above(node, readers)]
            case Dedupe():
                return [*self._keys(node), ("within", node.within or "for ever"), *self._times(node.input)]
            case Join():
                return self._join(node)
            case Stateful():
                row = ", ".join(self._typed(node.input, column.name) for column in node.input.columns)
                made = ", ".join(f"{c.name} {c.type}" for c in node.made)
                called = f"{node.function} {self.functions.get(node.function, '')}"
                facts: Facts = [*self._keys(node), ("row", row), ("function", called), ("gives", made)]
                # With a time to live, Spark keeps another state.
                return [*facts, ("ttl", node.ttl)] if node.ttl else facts
        return []

    def _keys(self, node: Dedupe | Stateful) -> Facts:
        return [(f"key {place}", self._typed(node.input, key)) for place, key in enumerate(node.keys, 1)]

    def _aggregate(self, node: Aggregate) -> Facts:
        def typed(expression: Expression) -> str:
            null = "" if expression.nullable else " not null"
            return f"{self.of(node.input, expression)} {expression.type}{null}"

        facts: Facts = []
        for place, key in enumerate(node.keys, 1):
            what = "window" if key is node.window else f"key {place}"
            facts.append((what, typed(key.expression)))
        for place, measure in enumerate(node.measures, 1):
            where = f" where {self.of(node.input, measure.condition)}" if measure.condition else ""
            facts.append((f"measure {place}", f"{typed(measure.call)}{where}"))
        return [*facts, ("emit", node.emit), *self._times(node.input)]

    def _above(self, node: Aggregate, readers: Mapping[int, list[Node]]) -> Facts:
        """Tell the order in which the only reader asks for measures: Spark keeps them in that order.

        A condition on a window's key is one on what is kept.
        """
        measures = {measure.name.lower() for measure in node.measures}
        asked: list[str] = []
        kept: list[str] = []
        above = readers.get(id(node), [])
        if len(above) != 1:
            return []
        reader = above[0]
        while isinstance(reader, Filter):
            if node.emit == "on_close":
                kept += [self.of(reader.input, condition) for condition in reader.conditions]
            above = readers.get(id(reader), [])
            if len(above) != 1:
                break
            reader = above[0]
        if isinstance(reader, Project):
            for item in reader.items:
                asked += [ref.column for ref in item.expression.refs if ref.column.lower() in measures]
        places = {measure.name: place for place, measure in enumerate(node.measures, 1)}
        order = [str(places[name]) for name in dict.fromkeys(asked) if name in places]
        own = [str(place) for place in places.values()]
        facts: Facts = [("order", ", ".join(order))] if order and order != own else []
        return facts + [("kept", text) for text in sorted(kept)]

    def _join(self, node: Join) -> Facts:
        facts: Facts = [("kind", node.kind)]
        facts += [(f"on {place}", self.of(node, each)) for place, each in enumerate(node.on, 1)]
        for name, side in (("left", node.left), ("right", node.right)):
            facts.append((name, ", ".join(self._typed(side, column.name) for column in side.columns)))
            facts += [(f"{name} {what}", text) for what, text in self._times(side)]
        return facts

    def _times(self, node: Node) -> Facts:
        times = traits_of(node).watermarks
        return [("watermark", f"{self.column(node, name)} delay {delay}") for name, delay in times]

    def _typed(self, node: Node, name: str) -> str:
        found = node.column(name)
        return f"{self.column(node, name)} {found.type}{'' if found.nullable else ' not null'}"

    # -- what an expression or column is made of

    def of(self, node: Node, expression: Expression) -> str:
        """Return an expression over a node's columns as one over columns of sources."""
        if expression.column:
            return self.column(node, expression.column)

        def ref(found: Ref) -> str:
            text = self.column(node, found.column)
            return f"({text})" if " " in text else text

        text = render(expression, ref, lambda read: read.relation)
        if not expression.functions:
            return text
        digests = sorted({f"{name} {self.functions.get(name, '')}" for name in expression.functions})
        return f"{text} [{', '.join(digests)}]"

    def column(self, node: Node, name: str) -> str:
        key = (id(node), name.lower())
        if key not in self._known:
            text = self._column(node, name)
            # Long ones are told by their digest: a chain of doublings would never end.
            self._known[key] = text if len(text) < 500 else digest(text)
        return self._known[key]

    def _column(self, node: Node, name: str) -> str:
        below, way = self._down(node, name)
        return self._made_by(below, way)

    def _made_by(self, below: Node, way: str) -> str:
        """Tell a column by the node that makes it."""
        match below:
            case Project():
                made = below.made.get(way) or _item(below.items, way).expression
                return self.of(below.input, made)
            case Aggregate():
                for item in below.keys:
                    if item.name.lower() == way.lower():
                        return self.of(below.input, item.expression)
                call = next(m for m in below.measures if m.name.lower() == way.lower())
                where = f" where {self.of(below.input, call.condition)}" if call.condition else ""
                return self.of(below.input, call.call) + where
            case Expand():
                place = [c.name.lower() for c in below.made].index(way.lower())
                return f"{self.of(below.input, below.call)}#{place}"
            case Union():
                place = [c.name.lower() for c in below.columns].index(way.lower())
                sides = (self.column(side, side.columns[place].name) for side in below.sides)
                return f"union({', '.join(sides)})"
            case Decode():
                root = self._roots.get(below.relation)
                if root is not None and way.lower() in root.by_name:
                    return self.column(root, way)
                return f"{below.relation}.{way}"
            case _:
                relation = below.relation or below.fingerprint
                return f"{relation}.{way}"

    def _down(self, node: Node, name: str) -> tuple[Node, str]:
        """Follow a column down to the node that makes it."""
        while (way := self._passed_on(node, name)) is not None:
            node, name = way
        return node, name

    def _passed_on(self, node: Node, name: str) -> tuple[Node, str] | None:
        """Return where a node has a column from, and what it is called there; None where it is made."""
        return node.origin(name)


def _item(items: Iterable[Item], name: str) -> Item:
    return next(item for item in items if item.name.lower() == name.lower())


def digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()
