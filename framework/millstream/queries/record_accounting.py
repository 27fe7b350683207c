"""Finds the topic whose records can be counted one by one: each gives at most one row of an output."""

from __future__ import annotations

from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.nodes import Dedupe, Node, Output, SourceScan, TopicScan
from millstream.plan.row_by_row import input_of_rows


def counted_source(output: Output) -> NodeId:
    """Return the source or model that owns the topic; `NO_NODE` if rows are joined, grouped or generated."""
    node: Node | None = output.input
    while node is not None:
        match node:
            case TopicScan() | SourceScan():
                return node.relation
            case Dedupe(by_position=False, exact_by=""):
                node = node.input
            case _:
                node = input_of_rows(node)
    return NO_NODE
