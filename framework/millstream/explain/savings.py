"""The cost of a plan per record, as counts, and in rows per second if rates are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import add, sub
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from millstream.core.node_id import NodeId
from millstream.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Row,
    Type,
)
from millstream.plan.nodes import (
    Aggregate,
    Column,
    Decode,
    Expand,
    Filter,
    Join,
    Node,
    Opaque,
    Output,
    Plan,
    Project,
    Repartition,
    SourceScan,
    Stateful,
    TemporalJoin,
    TopicScan,
    Union,
    Watermark,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.context import PlanHints
from millstream.plan.traits import KnownTraits


class Cost(Struct, frozen=True):
    reads: int = 0
    """Reads of topics."""
    decodes: int = 0
    decoded_fields: int = 0
    shuffles: int = 0
    shuffled_columns: int = 0
    states: int = 0
    projections: int = 0
    watermarks: int = 0
    python_calls: int = 0
    topics_written: int = 0
    topics_read_back: int = 0
    """Reads of topics that the project itself writes."""
    rows_read: float | None = None
    """Per second, like all fields below; None if a rate is unknown."""
    rows_decoded: float | None = None
    rows_shuffled: float | None = None
    bytes_shuffled: float | None = None
    """A lower bound, since the lengths of texts and lists are unknown."""
    python_rows: float | None = None


_RATES = ("rows_read", "rows_decoded", "rows_shuffled", "bytes_shuffled", "python_rows")
_COUNTS = tuple(name for name in Cost.__struct_fields__ if name not in _RATES)


class Costs:
    """Computes the costs of plans that share most of their nodes; each node is analyzed once."""

    def __init__(self, hints: PlanHints | None = None) -> None:
        self.hints = hints or PlanHints()
        self._traits = KnownTraits()
        self._nodes: dict[int, tuple[tuple[int, ...], tuple[tuple[str, int], ...]]] = {}
        self._plans: dict[int, tuple[Plan, Cost]] = {}

    def of(self, plan: Plan, parts: Sequence[Sequence[Output]] | None = None) -> Cost:
        """Return the cost of a plan; a node counts once in each part. By default, the plan is one part."""
        if parts is not None:
            return self._cost(plan, [in_order(part) for part in parts])
        if id(plan) not in self._plans:
            self._plans[id(plan)] = plan, self._cost(plan, [in_order(plan.outputs)])
        return self._plans[id(plan)][1]

    def _cost(self, plan: Plan, orders: list[list[Node]]) -> Cost:
        times = Counter(id(node) for order in orders for node in order)
        nodes = {id(node): node for order in orders for node in order}
        counts = [[n * times[key] for n in self._node(node)[0]] for key, node in nodes.items()]
        numbers: dict[str, Any] = dict(zip(_COUNTS, map(sum, zip(*counts, strict=True)), strict=False))
        if self.hints.rows_per_second:
            numbers |= self._flows(plan, orders)
        return Cost(**numbers)

    def _node(self, node: Node) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...]]:
        """Return the counts of a node, and the cost of each of its input rows."""
        if id(node) not in self._nodes:
            # The known traits hold a reference to the node, so that its `id` is not reused.
            moving = self._traits.of(node).mode != "static"
            counted = dict(_counts(node, moving=moving))
            counts = tuple(counted.get(name, 0) for name in _COUNTS)
            self._nodes[id(node)] = counts, tuple(_flowing(node, moving=moving))
        return self._nodes[id(node)]

    def _flows(self, plan: Plan, orders: Iterable[list[Node]]) -> dict[str, float | None]:
        rows = estimate_rates(in_order(plan.outputs), self.hints)
        flows: dict[str, float | None] = dict.fromkeys(_RATES, 0.0)
        for order in orders:
            for node in order:
                for name, flow in self._node(node)[1]:
                    rate, before = rows[id(node.inputs[0] if node.inputs else node)], flows[name]
                    flows[name] = None if before is None or rate is None else before + rate * flow
        return flows


def plan_cost(
    plan: Plan, parts: Sequence[Sequence[Output]] | None = None, hints: PlanHints | None = None
) -> Cost:
    """Return the cost of one plan, as `Costs.of` does."""
    return Costs(hints).of(plan, parts)


def separate_outputs(plan: Plan) -> list[list[Output]]:
    """Return one part for each output, as if each ran in a separate query."""
    return [[output] for output in plan.outputs]


def subtract_costs(old: Cost, new: Cost) -> Cost:
    return _combined(old, new, sub)


def add_costs(one: Cost, other: Cost) -> Cost:
    return _combined(one, other, add)


def _combined(one: Cost, other: Cost, how: Callable[[float, float], float]) -> Cost:
    first, second = asdict(one), asdict(other)
    numbers: dict[str, Any] = {
        name: None if first[name] is None or second[name] is None else how(first[name], second[name])
        for name in first
    }
    return Cost(**numbers)


def _counts(node: Node, *, moving: bool) -> Iterator[tuple[str, int]]:
    match node:
        case TopicScan():
            yield "reads", 1
            yield "topics_read_back", int(node.relation.kind == "model")
        case SourceScan():
            yield "reads", 1
        case Decode():
            yield "decodes", 1
            yield "decoded_fields", len(node.fields)
        case Repartition() if moving:
            yield "shuffles", 1
            yield "shuffled_columns", len(node.columns)
        case _ if node.stateful and moving:
            yield "states", 1
        case Project() | Watermark():
            yield "projections" if isinstance(node, Project) else "watermarks", 1
        case Output() if node.topic:
            yield "topics_written", 1
    yield "python_calls", len(node.functions)


def _flowing(node: Node, *, moving: bool) -> Iterator[tuple[str, int]]:
    """Yield the cost of each input row of a node."""
    match node:
        case TopicScan() | SourceScan():
            yield "rows_read", 1
        case Decode():
            yield "rows_decoded", 1
        case Repartition() if moving:
            yield "rows_shuffled", 1
            yield "bytes_shuffled", row_size(node.columns).bytes
    if node.functions:
        yield "python_rows", len(node.functions)


_WORDS = {
    "reads": ("read of a topic", "reads of topics"),
    "decodes": ("decode", "decodes"),
    "decoded_fields": ("decoded field", "decoded fields"),
    "shuffles": ("shuffle", "shuffles"),
    "shuffled_columns": ("shuffled column", "shuffled columns"),
    "states": ("state", "states"),
    "projections": ("projection", "projections"),
    "watermarks": ("watermark", "watermarks"),
    "python_calls": ("Python call", "Python calls"),
    "topics_written": ("topic written", "topics written"),
    "topics_read_back": ("topic read back", "topics read back"),
    "rows_read": ("row/s read", "rows/s read"),
    "rows_decoded": ("row/s decoded", "rows/s decoded"),
    "rows_shuffled": ("row/s shuffled", "rows/s shuffled"),
    "bytes_shuffled": ("byte/s shuffled at least", "bytes/s shuffled at least"),
    "python_rows": ("row/s through Python", "rows/s through Python"),
}
NAMES = {name: many for name, (_, many) in _WORDS.items()}
"""The plural words for each number."""


def in_words(cost: Cost) -> list[str]:
    """Return the nonzero numbers of a cost in words, such as `3 reads of topics`."""
    phrases: list[str] = []
    for name, number in asdict(cost).items():
        if number:
            one, many = _WORDS[name]
            phrases.append(f"{format_number(number)} {one if number == 1 else many}")
    return phrases


def savings_in_words(cost: Cost) -> str:
    """Return what is saved, and what it costs in exchange, in words."""
    numbers: dict[str, Any] = asdict(cost)
    less = in_words(Cost(**{name: n if n is not None and n > 0 else 0 for name, n in numbers.items()}))
    more = in_words(Cost(**{name: -n if n is not None and n < 0 else 0 for name, n in numbers.items()}))
    costs = f"for {', '.join(more)} more" if more else ""
    return " ".join(filter(None, (", ".join(less) or ("nothing" if more else ""), costs)))


def cost_table(*costs: Cost) -> list[tuple[str, tuple[str, ...]]]:
    """Return a row for each number that is not zero in all costs: its name, and its value in each."""
    rows: list[tuple[str, tuple[str, ...]]] = []
    for name, (_, many) in _WORDS.items():
        numbers: list[float | None] = [getattr(cost, name) for cost in costs]
        if any(numbers):
            rows.append((many, tuple("?" if n is None else format_number(n) for n in numbers)))
    return rows


def format_number(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) or abs(number) >= 10 else f"{number:,.1f}"


_FIXED = (BOOLEAN, *INTEGERS, FLOAT, DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ)


class ValueSize(Struct, frozen=True):
    """`exact` is false if the length of a text, list or map is unknown; `bytes` is then a lower bound."""

    bytes: int
    exact: bool = True


def row_size(columns: Iterable[Column]) -> ValueSize:
    """Return the size of Spark's UnsafeRow: 8 bytes for each column, and a bit for NULL."""
    sizes = [_size(column.type) for column in columns]
    bits = 8 * -(-len(sizes) // 64)
    return ValueSize(bits + sum(size.bytes for size in sizes), all(size.exact for size in sizes))


def _size(type_: Type) -> ValueSize:
    match type_:
        case Decimal(precision=precision):
            return ValueSize(8 if precision <= 18 else 24)
        case Row(fields=fields):
            inner = row_size(Column(field.name, field.type) for field in fields)
            return ValueSize(8 + inner.bytes, inner.exact)
        case _:
            return ValueSize(8, type_ in _FIXED)


class _Rate(Struct, frozen=True):
    rows: float | None
    applied: frozenset[NodeId] = frozenset()
    """Models whose `keeps` is already included, since a split filter must not apply it twice."""


_UNKNOWN = _Rate(None)


def estimate_rates(order: Iterable[Node], hints: PlanHints) -> dict[int, float | None]:
    """Return rows per second by a node's `id`; for an aggregate or dedupe, its input is an upper bound."""
    by_node: dict[int, _Rate] = {}
    for node in order:
        by_node[id(node)] = _rate(node, [by_node[id(child)] for child in node.inputs], hints)
    return {key: rate.rows for key, rate in by_node.items()}


def _rate(node: Node, inputs: list[_Rate], hints: PlanHints) -> _Rate:
    match node:
        case TopicScan() | SourceScan():
            return _Rate(hints.rows_per_second.get(node.relation))
        case Filter():
            return _filtered(node, inputs[0], hints)
        case Union():
            rows = [rate.rows for rate in inputs if rate.rows is not None]
            return _Rate(sum(rows)) if len(rows) == len(inputs) else _UNKNOWN
        case Aggregate():
            # `keeps` may be applied again, because a filter above it is about groups.
            return inputs[0]
        case TemporalJoin():
            return inputs[0]
        case Expand() | Stateful() | Opaque() | Join():
            return _UNKNOWN
    return inputs[0] if inputs else _UNKNOWN


def _filtered(node: Filter, rate: _Rate, hints: PlanHints) -> _Rate:
    if rate.rows is None:
        return rate
    selective = [model for model in node.models if model in hints.keeps]
    if len(node.models) == 1 and selective and selective[0] not in rate.applied:
        return _Rate(rate.rows * hints.keeps[selective[0]], rate.applied | set(selective))
    if len(node.models) > 1 and len(selective) == len(node.models):
        # The filter passes what any of several models keeps; each of them filters again later.
        return _Rate(rate.rows * min(1.0, sum(hints.keeps[model] for model in selective)), rate.applied)
    return rate
