"""Rows per second of each node, as far as declared and measured figures tell."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from millstream.plan.nodes import (
    Aggregate,
    Expand,
    Filter,
    Join,
    Node,
    Opaque,
    SourceScan,
    Stateful,
    TemporalJoin,
    TopicScan,
    Union,
)
from millstream.plan.optimizer.context import PlanHints


class _Rate(Struct, frozen=True):
    rows: float | None
    applied: frozenset[str] = frozenset()
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
