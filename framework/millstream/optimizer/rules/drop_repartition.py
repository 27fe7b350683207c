"""Rows that are together already are not brought together again.

repartition by user → project user, total * 2 as t ← aggregate sum(value) as total by user on close
project user, total * 2 as t ← aggregate sum(value) as total by user on close
"""

from __future__ import annotations

from millstream.optimizer.context import Change, Context, Result
from millstream.optimizer.names import both, kind
from millstream.plan.nodes import Aggregate, Dedupe, Node, Plan, Repartition, Stateful
from millstream.plan.traits import Traits, traits_of
from millstream.plan.walk import rewrite


def drop_repartition(plan: Plan, context: Context) -> Result:
    candidates = [
        node
        for node in context.order
        if isinstance(node, Repartition)
        and context.allows("drop_repartition", node)
        and _together(node, traits_of(node.input), alone=_alone(node, context))
    ]
    if not candidates:
        return plan, ()
    wanted = {id(node) for node in candidates}
    changes: list[Change] = []

    def visit(node: Node, before: Node) -> Node:
        # One that is dropped further down may have been what this one relied on: so the new input is asked.
        if (
            id(before) in wanted
            and isinstance(node, Repartition)
            and _together(node, traits_of(node.input), alone=_alone(before, context))
        ):
            changes.append(Change(f"{kind(node)} is not needed: {_why(traits_of(node.input))}", both(before)))
            return node.input
        return node

    found = rewrite(plan, visit)
    return found, tuple(changes)


def _alone(node: Node, context: Context) -> bool:
    """Tell whether each reader cares for its own rows only; the sides of a join must lie side by side."""
    return all(isinstance(each, Aggregate | Dedupe | Stateful) for each in context.consumers[id(node)])


def _together(node: Repartition, given: Traits, *, alone: bool) -> bool:
    if given.mode == "static":
        return True
    if given.partitioned is None:
        return False
    there, keys = ([name.lower() for name in names] for names in (given.partitioned, node.keys))
    # Rows that agree in all keys agree in some of them; () is everything in one place.
    return set(there) <= set(keys) if alone else there == keys


def _why(given: Traits) -> str:
    if given.mode == "static":
        return "all of it is at hand"
    if given.partitioned:
        return f"rows of one {', '.join(given.partitioned)} are together already"
    return "all rows are in one place already"
