"""Rows that change by themselves: as time passes or by chance, while what they come from stays the same."""

from __future__ import annotations

from millstream.core.expressions import Expression
from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.nodes import Node, Opaque
from millstream.plan.traits.values import Mode, Traits
from millstream.sql.changing_functions import changing_function, special_time_in


def changes_by_itself(node: Node, inputs: list[Traits], mode: Mode) -> tuple[str, NodeId] | None:
    """Return a function by which the rows of a node change by themselves, and the model that calls it.

    A row that comes from a record of a stream is computed once, so it keeps what the clock was then.
    """
    follows_table = any("table changes" in input_traits.below for input_traits in inputs)
    if mode == "append" or (mode == "upsert" and not follows_table):
        return None
    for input_traits in inputs:
        if input_traits.changes_by_itself:
            return input_traits.changes_by_itself
    called = _called(node)
    return (called, next(iter(node.models), NO_NODE)) if called else None


def called_by(expression: Expression) -> str:
    """Return the function by which an expression gives other values each time; empty if it doesn't."""
    if expression.deterministic:
        return ""
    python = f"{expression.functions[0]}()" if expression.functions else ""
    return changing_function(expression.text) or special_time_in(expression.text) or python


def _called(node: Node) -> str:
    if isinstance(node, Opaque):
        text = "".join(piece if isinstance(piece, str) else " x " for piece in node.pieces)
        return changing_function(text) or ""
    return next(filter(None, map(called_by, node.expressions)), "")
