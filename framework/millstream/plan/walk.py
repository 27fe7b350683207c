"""Traversals of a plan: each shared node once, inputs first, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from millstream.core.expressions import Expression
from millstream.plan.nodes import Filter, Node, Output, Plan


def find_consumers(plan: Plan) -> dict[int, list[Node]]:
    """Return the readers of each node, by its `id`; a node that reads it twice is listed twice."""
    readers: dict[int, list[Node]] = {id(node): [] for node in plan.order}
    for node in plan.order:
        for input_node in node.inputs:
            readers[id(input_node)].append(node)
    return readers


def below(node: Node, *kinds: type[Node]) -> Node:
    """Return the node below consecutive ones of these kinds, which have one input."""
    while isinstance(node, kinds):
        (node,) = node.inputs
    return node


def filtered_rows(node: Node, ends: Container[int] = ()) -> tuple[Node, list[tuple[Node, Expression]]]:
    """Return the node whose rows consecutive filters choose, and their conditions, each with its node.

    Conditions come from the top, with the node over whose columns they are. Steps that give one row for each
    are passed, up to the nodes whose `id` is in `ends`.
    """
    conditions: list[tuple[Node, Expression]] = []
    while (isinstance(node, Filter) or node.one_to_one) and id(node) not in ends:
        if isinstance(node, Filter):
            conditions += [(node.input, condition) for condition in node.conditions]
        (node,) = node.inputs
    return node, conditions


def rewrite_plan(
    plan: Plan, visit: Callable[[Node, Node], Node], nodes: Iterable[Node] | None = None
) -> Plan:
    """Rebuild a plan, inputs first: `visit` gets each node over its new inputs, and the node before.

    `nodes` are the nodes to visit, including all above them; by default, all.
    """
    new: dict[int, Node] = {}
    """By `id`, the nodes that were replaced."""
    for node in plan.order if nodes is None else nodes:
        over, inputs = node, node.inputs
        for input_node in inputs:
            if id(input_node) in new:
                over = node.with_inputs(*[new.get(id(input_node), input_node) for input_node in inputs])
                break
        rewritten = visit(over, node)
        if rewritten is not node:
            new[id(node)] = rewritten
    return with_outputs(plan, new)


def with_outputs(plan: Plan, new: Mapping[int, Node]) -> Plan:
    """Return a plan with the outputs that replace others, by the `id` of these."""
    if new.keys().isdisjoint(map(id, plan.outputs)):
        return plan
    outputs: list[Output] = []
    for output in plan.outputs:
        now = new.get(id(output), output)
        assert isinstance(now, Output)
        outputs.append(now)
    return Plan(tuple(outputs))
