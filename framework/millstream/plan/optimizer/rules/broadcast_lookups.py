"""A small relation at rest is sent to every worker, instead of shuffling both sides.

events → lookup products
events → lookup products (broadcast)
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.plan.nodes import Lookup, Node, SeedScan, TableScan
from millstream.plan.optimizer.context import PlanChange, PlanHints
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule

_SMALL = 100_000
"""Rows that fit into the memory of every worker along with everything else."""
_KINDS = frozenset(("inner", "left", "semi", "anti", "cross"))
"""Spark broadcasts the right side only if its unmatched rows are not part of the result."""


@local_rule(Lookup, lambda node, _: not node.broadcast and node.kind in _KINDS)
def broadcast_lookups(node: Lookup, site: RewriteContext) -> Rewrite | None:
    if not _is_small(node.right, site.hints):
        return None
    name = node.right.label or "a relation at rest"
    change = PlanChange(f"{name} is sent to the rows that look it up", node.models)
    return Rewrite(replace(node, broadcast=True), (change,))


def _is_small(input_node: Node, hints: PlanHints) -> bool:
    while len(input_node.inputs) == 1:
        (input_node,) = input_node.inputs
    match input_node:
        case SeedScan():
            return True
        case TableScan(relation=relation):
            counts = [count for (of, _), count in hints.distinct.items() if of == relation]
            return bool(counts) and max(counts) <= _SMALL
    return False
