"""A small relation at rest is sent to where the rows are, instead of bringing both together.

events → lookup products
events → lookup products (broadcast)
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.optimizer.context import Change, Context, Result
from millstream.plan.nodes import Lookup, Node, Plan, SeedScan, TableScan
from millstream.plan.walk import rewrite

_SMALL = 100_000
"""Rows that fit into the memory of every worker beside all else."""
_KINDS = frozenset(("inner", "left", "semi", "anti", "cross"))
"""Spark broadcasts the right side only where no row of it has to be kept for its own sake."""


def broadcast_lookups(plan: Plan, context: Context) -> Result:
    changes: list[Change] = []

    def visit(node: Node, _before: Node) -> Node:
        if isinstance(node, Lookup) and _fits(node, context):
            name = node.right.label or "a relation at rest"
            changes.append(Change(f"{name} is sent to the rows that look it up", node.models))
            return replace(node, broadcast=True)
        return node

    if not any(isinstance(node, Lookup) and _fits(node, context) for node in context.order):
        return plan, ()
    return rewrite(plan, visit), tuple(changes)


def _fits(node: Lookup, context: Context) -> bool:
    if node.broadcast or node.kind not in _KINDS or not context.allows("broadcast_lookups", node):
        return False
    below: Node = node.right
    while len(below.inputs) == 1:
        (below,) = below.inputs
    match below:
        case SeedScan():
            return True
        case TableScan(relation=relation):
            counts = [count for (of, _), count in context.hints.distinct.items() if of == relation]
            return bool(counts) and max(counts) <= _SMALL
    return False
