"""Describes columns and states by their sources; equal texts mean equal contents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from millstream.core.expressions import Expression, Ref, render_sql
from millstream.core.node_id import NodeId
from millstream.plan.nodes import (
    CARRIED,
    RECORD_TIME,
    Aggregate,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Item,
    Join,
    Matched,
    Measure,
    Node,
    Project,
    Stateful,
    TemporalJoin,
    Union,
)
from millstream.plan.traits import traits_of

Facts = list[tuple[str, str]]


class ColumnMeanings:
    """Describes columns by their sources; each column is described once."""

    _ends: Mapping[int, NodeId] = {}
    """The relations at which expressions end, by `id` of their node."""

    def __init__(self, functions: Mapping[str, str], roots: Mapping[NodeId, Node] | None = None) -> None:
        self.functions = functions
        self._roots = roots or {}
        """The root of each model, to follow its topic; without a root, the topic itself is the origin."""
        self._descriptions: dict[tuple[int, str], str] = {}
        self._described: set[int] = set()
        """The `id`s of projections whose columns are described."""

    def describe(self, order: Iterable[Node]) -> None:
        """Describe columns, inputs first, which avoids deep recursion for long chains of projections."""
        for node in order:
            if isinstance(node, Project) and id(node) not in self._described:
                self._described.add(id(node))
                for column in node.columns:
                    self.column(node, column.name)

    # -- the state of an operator

    def facts(self, node: Node, readers: Mapping[int, list[Node]]) -> Facts:
        match node:
            case Aggregate():
                return [*self._aggregate(node), *self._above(node, readers)]
            case Dedupe():
                if node.by_position:
                    return self._keys(node)
                within = ("within", node.within or "for ever")
                return [*self._keys(node), within, *self.exact(node), *self._times(node.input)]
            case Join():
                return self._join(node)
            case TemporalJoin():
                retention = "forever" if node.keep is None else f"{node.keep} ms"
                times = [
                    ("time", self.column(node.left, node.time)),
                    ("from", self.column(node.right, node.begins)),
                ]
                return [
                    *self._join(node),
                    *times,
                    ("wait", f"{node.wait} ms after {node.waited} ms"),
                    ("kept", retention),
                ]
            case Stateful():
                # The time of records passes by the function and its state.
                row = ", ".join(
                    self.typed(node.input, name) for name in node.input.names if name not in CARRIED
                )
                columns = ", ".join(
                    f"{column.name} {column.type}" for column in node.generated if column.name not in CARRIED
                )
                called = f"{node.function} {self.functions.get(node.function, '')}"
                facts: Facts = [*self._keys(node), ("row", row), ("function", called), ("gives", columns)]
                # With a time to live, Spark uses another state layout.
                if node.ttl and node.time:
                    by = f"{node.ttl} by {self.column(node.input, node.time)}"
                    return [*facts, ("ttl", by), *self._times(node.input)]
                return [*facts, ("ttl", node.ttl)] if node.ttl else facts
        return []

    def exact(self, node: Dedupe) -> Facts:
        """Return the event time by which a dedupe is exact."""
        return [("exact", self.column(node.input, node.exact_by))] if node.exact_by else []

    def _keys(self, node: Dedupe | Stateful) -> Facts:
        return [(f"key {index}", self.typed(node.input, key)) for index, key in enumerate(node.keys, 1)]

    def copies(self, node: Aggregate) -> list[str]:
        """Return digests of the aggregates of which the state has copies, see `Matched`."""
        return [
            digest_text(", ".join(self.typed(node, name) for name in measure.copies))
            for measure in node.measures
            if isinstance(measure, Matched)
        ]

    def _aggregate(self, node: Aggregate) -> Facts:
        def typed(expression: Expression) -> str:
            null = "" if expression.nullable else " not null"
            return f"{self.of(node.input, expression)} {expression.type}{null}"

        facts: Facts = []
        for index, key in enumerate(node.keys, 1):
            what = "window" if key is node.window else f"key {index}"
            facts.append((what, typed(key.expression)))
        for index, measure in enumerate(written_measures(node.measures), 1):
            where = f" where {self.of(node.input, measure.condition)}" if measure.condition else ""
            what = "record time" if RECORD_TIME in measure.name else "measure"
            facts.append((f"{what} {index}", f"{typed(measure.call)}{where}"))
        return [*facts, ("emit", node.emit), *self._times(node.input)]

    def _above(self, node: Aggregate, readers: Mapping[int, list[Node]]) -> Facts:
        """Return the order in which the only reader uses the measures: Spark stores them in that order.

        Conditions above a window also decide which windows are stored.
        """
        measures = {measure.name.lower() for measure in written_measures(node.measures)}
        used: list[str] = []
        conditions: list[str] = []
        above = readers.get(id(node), [])
        if len(above) != 1:
            return []
        reader = above[0]
        while isinstance(reader, Filter):
            if node.emit == "on_close":
                conditions += [self.of(reader.input, condition) for condition in reader.conditions]
            above = readers.get(id(reader), [])
            if len(above) != 1:
                break
            reader = above[0]
        if isinstance(reader, Project):
            for item in reader.items:
                used += [ref.column for ref in item.expression.refs if ref.column.lower() in measures]
        indexes = {measure.name: index for index, measure in enumerate(written_measures(node.measures), 1)}
        order = [str(indexes[name]) for name in dict.fromkeys(used) if name in indexes]
        written_order = [str(index) for index in indexes.values()]
        facts: Facts = [("order", ", ".join(order))] if order and order != written_order else []
        return facts + [("conditions", text) for text in sorted(conditions)]

    def _join(self, node: Join | TemporalJoin) -> Facts:
        facts: Facts = [("kind", node.kind)]
        facts += [(f"on {index}", self.of(node, condition)) for index, condition in enumerate(node.on, 1)]
        for name, side in (("left", node.left), ("right", node.right)):
            facts.append((name, ", ".join(self.typed(side, column.name) for column in side.columns)))
            facts += [(f"{name} {what}", text) for what, text in self._times(side)]
        return facts

    def _times(self, node: Node) -> Facts:
        times = traits_of(node).watermarks
        return [("watermark", f"{self.column(node, name)} delay {delay}") for name, delay in times]

    def typed(self, node: Node, name: str) -> str:
        column = node.column(name)
        return f"{self.column(node, name)} {column.type}{'' if column.nullable else ' not null'}"

    # -- expressions and columns by their sources

    def of(self, node: Node, expression: Expression) -> str:
        """Return an expression over a node's columns as one over columns of sources."""
        if expression.column:
            return self.column(node, expression.column)

        def ref(reference: Ref) -> str:
            text = self.column(node, reference.column)
            return f"({text})" if " " in text else text

        text = render_sql(expression, ref, lambda read: str(read.relation))
        if not expression.functions:
            return text
        digests = sorted({f"{name} {self.functions.get(name, '')}" for name in expression.functions})
        return f"{text} [{', '.join(digests)}]"

    def column(self, node: Node, name: str) -> str:
        key = (id(node), name.lower())
        if key not in self._descriptions:
            text = self._column(node, name)
            # Long texts are replaced by their digest: a chain of doublings would grow without end.
            self._descriptions[key] = text if len(text) < 500 else digest_text(text)
        return self._descriptions[key]

    def _column(self, node: Node, name: str) -> str:
        return self._computed_by(*self._follow(node, name))

    def _computed_by(self, input_node: Node, own_name: str) -> str:
        """Describe a column by the node that computes it."""
        match input_node:
            case Project():
                expression = (
                    input_node.definitions.get(own_name) or _item(input_node.items, own_name).expression
                )
                return self.of(input_node.input, expression)
            case Aggregate():
                for item in input_node.keys:
                    if item.name.lower() == own_name.lower():
                        return self.of(input_node.input, item.expression)
                call = next(m for m in input_node.measures if m.name.lower() == own_name.lower())
                where = f" where {self.of(input_node.input, call.condition)}" if call.condition else ""
                return self.of(input_node.input, call.call) + where
            case Expand():
                index = [column.name.lower() for column in input_node.generated].index(own_name.lower())
                return f"{self.of(input_node.input, input_node.call)}#{index}"
            case Union():
                index = [column.name.lower() for column in input_node.columns].index(own_name.lower())
                sides = (self.column(side, side.columns[index].name) for side in input_node.sides)
                return f"union({', '.join(sides)})"
            case Decode():
                root = self._roots.get(input_node.relation)
                if root is not None and own_name.lower() in root.by_name:
                    return self.column(root, own_name)
                return f"{input_node.relation}.{own_name}"
            case _:
                relation = input_node.relation or input_node.fingerprint
                return f"{relation}.{own_name}"

    def _follow(self, node: Node, name: str) -> tuple[Node, str]:
        """Follow a column down to the node that computes it, and return its name there."""
        while id(node) not in self._ends and (below := node.origin(name)) is not None:
            node, name = below
        return node, name


def written_measures(measures: Iterable[Measure]) -> list[Measure]:
    """Return the measures that the SQL of models has; a state can lack the others, see `copies`."""
    return [measure for measure in measures if not isinstance(measure, Matched)]


def _item(items: Iterable[Item], name: str) -> Item:
    return next(item for item in items if item.name.lower() == name.lower())


def digest_text(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()
