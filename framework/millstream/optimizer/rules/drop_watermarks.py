"""Watermarks that no state above uses are dropped, and so are repeated ones.

events → watermark at → topic
events → topic

Always applied: a query closes windows by the minimum of all its watermarks, including unused ones.
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.optimizer.context import Change, Context, Result
from millstream.plan.nodes import Node, Output, Plan, Watermark
from millstream.plan.traits import reads_event_time, traits_of
from millstream.plan.walk import rewrite


def drop_watermarks(plan: Plan, context: Context) -> Result:
    if not any(isinstance(node, Watermark) for node in context.order):
        return plan, ()
    below = _below_state(context)
    # One that others need stays: what reads the same rows can share their shuffle.
    needed = {n.fingerprint for n in context.order if isinstance(n, Watermark) and id(n) in below}
    changes: list[Change] = []
    dropped: set[int] = set()
    for node in context.order:
        if isinstance(node, Watermark):
            twice = (node.time, node.delay) in traits_of(node.input).watermarks
            if twice or node.fingerprint not in needed:
                why = "has one already" if twice else "is read by no state"
                of = f" of {node.label}" if node.label else ""
                changes.append(Change(f"{node.time}{of} {why}: no watermark", node.models))
                dropped.add(id(node))
    if not dropped:
        return plan, ()

    def visit(node: Node, before: Node) -> Node:
        return _named(node) if isinstance(node, Watermark) and id(before) in dropped else node

    return rewrite(plan, visit), tuple(changes)


def _below_state(context: Context) -> set[int]:
    """Return the `id`s of all nodes below something that looks at their event time, however far."""
    found: set[int] = set()
    for node in reversed(context.order):
        # A view without readers may still be read by a user's own query.
        view = isinstance(node, Output) and not node.materialization.stored_as
        if view or id(node) in found or reads_event_time(node):
            found.update(map(id, node.inputs))
    return found


def _named(node: Watermark) -> Node:
    """Return what the watermark was over, under the name that it had."""
    below = node.input
    return replace(below, label=node.label) if node.label and not below.label else below
