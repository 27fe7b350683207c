"""Ways through a plan: each shared node once, inputs first, however deep it is."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from millstream.plan.nodes import Node, Output, Plan


def in_order(roots: Iterable[Node], known: Container[int] = ()) -> list[Node]:
    """Return all nodes, each once and after its inputs; not those whose `id` is known, nor what they read."""
    done: dict[int, Node] = {}
    for root in roots:
        way = [(root, iter(root.inputs))] if id(root) not in done and id(root) not in known else []
        while way:
            node, inputs = way[-1]
            for each in inputs:
                if id(each) not in done and id(each) not in known:
                    way.append((each, iter(each.inputs)))
                    break
            else:
                done[id(node)] = node
                way.pop()
    return list(done.values())


def consumers(plan: Plan) -> dict[int, list[Node]]:
    """Return who reads each node, by its `id`; one that reads it twice is there twice."""
    found: dict[int, list[Node]] = {id(node): [] for node in plan.order}
    for node in plan.order:
        for each in node.inputs:
            found[id(each)].append(node)
    return found


def rewrite(plan: Plan, visit: Callable[[Node, Node], Node], nodes: Iterable[Node] | None = None) -> Plan:
    """Rebuild a plan, inputs first: `visit` gets each node over its new inputs, and as it was before.

    `nodes` are those to visit, and all above them; by default each.
    """
    new: dict[int, Node] = {}
    """Those that are others now."""
    for node in plan.order if nodes is None else nodes:
        over, inputs = node, node.inputs
        for each in inputs:
            if id(each) in new:
                over = node.with_inputs(*[new.get(id(each), each) for each in inputs])
                break
        found = visit(over, node)
        if found is not node:
            new[id(node)] = found
    outputs: list[Output] = []
    for output in plan.outputs:
        now = new.get(id(output), output)
        assert isinstance(now, Output)
        outputs.append(now)
    if all(a is b for a, b in zip(outputs, plan.outputs, strict=True)):
        return plan
    return Plan(tuple(outputs))
