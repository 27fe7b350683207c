"""Finds the topic whose records can be counted one by one: each gives at most one row of an output."""

from __future__ import annotations

from millstream.plan.nodes import Decode, Dedupe, Filter, Output, TopicScan


def counted_source(output: Output) -> str:
    """Return the source or model that owns the topic; empty if rows are joined, grouped or generated."""
    node = output.input
    while True:
        match node:
            case TopicScan():
                return node.relation
            case Filter() | Dedupe(by_position=False):
                node = node.input
            case Decode() if not node.unique_by:
                node = node.input
            case _ if node.one_to_one:
                (node,) = node.inputs
            case _:
                return ""
