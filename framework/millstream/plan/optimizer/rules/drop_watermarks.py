"""Watermarks are dropped that no state above uses, that are repeated, or that another one replaces.

events → watermark at → topic
events → topic

Always applied: a query closes windows by the minimum of all its watermarks, including unused ones.
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.plan.nodes import Node, Output, Plan, Watermark
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.traits import reads_event_time, traits_of
from millstream.plan.walk import rewrite_plan


def drop_watermarks(plan: Plan, context: RuleContext) -> Result:
    if not any(isinstance(node, Watermark) for node in context.order):
        return plan, ()
    below = _below_state(context)
    # A watermark that others need stays, so that readers of the same rows can share their shuffle.
    needed = {n.fingerprint for n in context.order if isinstance(n, Watermark) and id(n) in below}
    changes: list[PlanChange] = []
    dropped: set[int] = set()
    for node in context.order:
        if isinstance(node, Watermark):
            repeated = (node.time, node.delay) in traits_of(node.input).watermarks
            replaced = all(isinstance(reader, Watermark) for reader in context.consumers[id(node)])
            if repeated or replaced or node.fingerprint not in needed:
                why = (
                    "it is repeated"
                    if repeated
                    else "another one replaces it"
                    if replaced
                    else "no state uses it"
                )
                of = f" of {node.label}" if node.label else ""
                changes.append(PlanChange(f"the watermark on {node.time}{of} is dropped: {why}", node.models))
                dropped.add(id(node))
    if not dropped:
        return plan, ()

    def visit(node: Node, before: Node) -> Node:
        return _named(node) if isinstance(node, Watermark) and id(before) in dropped else node

    return rewrite_plan(plan, visit), tuple(changes)


def _below_state(context: RuleContext) -> set[int]:
    """Return the `id`s of all nodes below a step that uses their event time."""
    ids: set[int] = set()
    for node in reversed(context.order):
        # A view without readers may still be read by a user's own query.
        view = isinstance(node, Output) and not node.materialization.stored_as
        if view or id(node) in ids or reads_event_time(node):
            ids.update(map(id, node.inputs))
    return ids


def _named(node: Watermark) -> Node:
    """Return the watermark's input under the watermark's name."""
    input_node = node.input
    return replace(input_node, label=node.label) if node.label and not input_node.label else input_node
