"""Follows rows through operators that give at most one row for each."""

from __future__ import annotations

from millstream.plan.nodes import Decode, Filter, Node


def input_of_rows(node: Node) -> Node | None:
    """Return the input whose rows give at most one row each; None if rows are joined or grouped."""
    match node:
        case Filter():
            return node.input
        case Decode() if not node.unique_by:
            return node.input
        case _ if node.one_to_one:
            (only,) = node.inputs
            return only
    return None
