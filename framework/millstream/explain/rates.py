"""How many rows a second come out of each node, as far as hints and measured rates say."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from millstream.optimizer.context import Hints
from millstream.plan.nodes import Aggregate, Expand, Filter, Join, Node, Opaque, Stateful, TopicScan, Union


class _Rate(Struct, frozen=True):
    rows: float | None
    kept: frozenset[str] = frozenset()
    """Models whose `keeps` is in it already: a filter that was taken apart keeps that share once."""


_UNKNOWN = _Rate(None)


def rates(order: Iterable[Node], hints: Hints) -> dict[int, float | None]:
    """Return rows a second by a node's `id`; an aggregate or a dedupe gives at most what it gets."""
    found: dict[int, _Rate] = {}
    for node in order:
        found[id(node)] = _rate(node, [found[id(each)] for each in node.inputs], hints)
    return {key: rate.rows for key, rate in found.items()}


def _rate(node: Node, inputs: list[_Rate], hints: Hints) -> _Rate:
    match node:
        case TopicScan():
            return _Rate(hints.rows_per_second.get(node.relation))
        case Filter():
            return _filtered(node, inputs[0], hints)
        case Union():
            rows = [each.rows for each in inputs if each.rows is not None]
            return _Rate(sum(rows)) if len(rows) == len(inputs) else _UNKNOWN
        case Aggregate():
            # A filter above it is over groups, of which the same model may keep another share.
            return inputs[0]
        case Expand() | Stateful() | Opaque() | Join():
            return _UNKNOWN
    return inputs[0] if inputs else _UNKNOWN


def _filtered(node: Filter, given: _Rate, hints: Hints) -> _Rate:
    if given.rows is None:
        return given
    known = [model for model in node.models if model in hints.keeps]
    if len(node.models) == 1 and known and known[0] not in given.kept:
        return _Rate(given.rows * hints.keeps[known[0]], given.kept | set(known))
    if len(node.models) > 1 and len(known) == len(node.models):
        # What any of several models keeps, each of which filters again above.
        return _Rate(given.rows * min(1.0, sum(hints.keeps[model] for model in known)), given.kept)
    return given
