"""Ways through a plan: each shared node once, inputs first, however deep it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millstream.plan.nodes import Node, Output, Plan


def _inputs(node: Node) -> tuple[Node, ...]:
    return node.inputs


def in_order(roots: Iterable[Node], inputs: Callable[[Node], tuple[Node, ...]] = _inputs) -> list[Node]:
    """Return all nodes, each once and after its inputs, or after what `inputs` says."""
    done: dict[int, Node] = {}
    for root in roots:
        waiting = [root]
        while waiting:
            node = waiting[-1]
            if id(node) in done:
                waiting.pop()
                continue
            missing = [each for each in inputs(node) if id(each) not in done]
            if missing:
                waiting += reversed(missing)
            else:
                done[id(node)] = waiting.pop()
    return list(done.values())


def consumers(plan: Plan) -> dict[int, list[Node]]:
    """Return who reads each node, by its `id`; one that reads it twice is there twice."""
    found: dict[int, list[Node]] = {}
    for node in plan.order:
        found.setdefault(id(node), [])
        for each in node.inputs:
            found.setdefault(id(each), []).append(node)
    return found


def rewrite(plan: Plan, visit: Callable[[Node, Node], Node]) -> Plan:
    """Rebuild a plan, inputs first: `visit` gets each node over its new inputs, and as it was before."""
    new: dict[int, Node] = {}
    kept: list[Node] = []
    for node in plan.order:
        found = visit(node.with_inputs(*(new[id(each)] for each in node.inputs)), node)
        new[id(node)] = found
        kept.append(found)
    outputs: list[Output] = []
    for output in plan.outputs:
        found = new[id(output)]
        assert isinstance(found, Output)
        outputs.append(found)
    if all(a is b for a, b in zip(outputs, plan.outputs, strict=True)):
        return plan
    return Plan(tuple(outputs))
