"""Gives outputs nodes of their own, also where a view's nodes are shared."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from millstream.plan.nodes import Node, Output, Plan
from millstream.plan.nodes.order import in_order


def with_own_nodes(plan: Plan, models: Collection[str]) -> Plan:
    """Return a plan in which no other output reads a node of some models."""
    return Plan(tuple(_copied(output) if output.model in models else output for output in plan.outputs))


def _copied(output: Output) -> Output:
    copies: dict[int, Node] = {}
    for node in in_order((output.input,)):
        inputs = [copies[id(input_node)] for input_node in node.inputs]
        models = tuple(dict.fromkeys((*node.models, output.model)))  # rules don't apply to nodes of its own
        copies[id(node)] = replace(node.with_inputs(*inputs) if inputs else node, models=models)
    return replace(output, input=copies[id(output.input)])
