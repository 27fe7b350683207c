"""Identifies the rows that reach each state, from the plan as written, so that other models don't matter.

Which records are bad is not part of it, but of what the rows depend on (`dependencies`).

In the optimized plan, rows also pass operators for other models: a filter that is the OR of all, columns that
only some models read. None of that changes what one model counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.core.node_id import NodeId
from millstream.formats.registry import KEY
from millstream.plan.from_sql.good_records import as_written
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Join,
    Node,
    RowsScan,
    Stateful,
    TopicScan,
    TraitsLeaf,
    Union,
    is_good,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.walk import filtered_rows
from millstream.queries.meanings import ColumnMeanings, digest_text


class RowDigests:
    """Identifies rows by a digest of everything that decides which of them pass; each node has one digest."""

    def __init__(self, roots: Mapping[NodeId, Node], meanings: ColumnMeanings) -> None:
        self._roots = roots
        self._meanings = meanings
        self._digests: dict[int, str] = {}

    def rows(self, node: Node) -> str:
        """Return the digest of a node's rows."""
        order = in_order((node,), self._digests)
        self._meanings.describe(order)
        for current in order:
            if current.one_to_one or (isinstance(current, Filter) and all(map(is_good, current.conditions))):
                self._digests[id(current)] = self._digests[id(current.inputs[0])]
            else:
                self._digests[id(current)] = digest_text("\n".join(self._parts(current)))
        return self._digests[id(node)]

    def above(self, node: Node) -> list[str]:
        """Return the conditions above states below a node: the optimizer may apply them before the states."""
        conditions: set[str] = set()
        keeping: set[int] = set()
        """The `id`s of stateful nodes and of nodes above them."""
        for current in in_order((node,)):
            if current.stateful or any(id(input_node) in keeping for input_node in current.inputs):
                keeping.add(id(current))
            if isinstance(current, Filter) and id(current.input) in keeping:
                conditions.update(
                    self._meanings.of(current.input, condition) for condition in current.conditions
                )
            elif isinstance(current, Join):
                conditions.update(self._meanings.of(current, condition) for condition in current.on)
        return sorted(conditions)

    def _parts(self, node: Node) -> list[str]:
        below = [self._digests[id(child)] for child in node.inputs]
        match node:
            case Filter():
                return self._filters(node)
            case Decode():
                # Keys are texts by default, which isn't written: digests of running queries stay the same.
                key = [] if node.key_format == KEY else [f"key {node.key_format.identity}"]
                return [
                    *below,
                    str(node.relation),
                    node.format.identity,
                    *key,
                    node.on_bad_record,
                    *node.unique_by,
                ]
            case TopicScan():
                root = self._roots.get(node.relation)
                return [str(node.relation), self.rows(root) if root is not None else ""]
            case Expand():
                return [*below, self._meanings.of(node.input, node.call), str(node.outer)]
            case Union():
                return ["union", *below]
            case Binary():
                return [
                    *below,
                    type(node).__name__,
                    node.kind,
                    *(self._meanings.of(node, condition) for condition in node.on),
                ]
            case Aggregate() | Dedupe() | Stateful():
                return [*below, *(f"{name} {fact}" for name, fact in self._meanings.facts(node, {}))]
            case RowsScan() | TraitsLeaf():
                return [type(node).__name__, str(node.relation)]
            case _:
                return [*below, as_written(node).fingerprint]

    def _filters(self, node: Filter) -> list[str]:
        """Return the conditions of consecutive filters, sorted: their order doesn't matter."""
        input_node, conditions = filtered_rows(node)
        meanings = {
            self._meanings.of(over, condition) for over, condition in conditions if not is_good(condition)
        }
        return [self._digests[id(input_node)], *sorted(meanings)]
