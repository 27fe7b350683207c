"""How each call of a Python function runs: on which rows, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from millstream.explain.names import node_names, plain
from millstream.expressions import Expression
from millstream.plan.nodes import Expand, Filter, Node, Plan, Stateful, conditions_text
from millstream.plan.nodes.order import in_order


class Call(Struct, frozen=True):
    function: str
    node: str
    """The operator that calls it."""
    models: tuple[str, ...]
    text: str
    """The expression that it is part of."""
    runs: str
    rows: str
    """Of what, and which of them."""
    times: int = 1
    """For each of these rows."""


ARROW = "Python over Arrow batches"


def python_calls(plan: Plan) -> list[Call]:
    """Return the calls of a plan, sources first."""
    names = node_names(plan)
    return [call for node in in_order(plan.outputs) for call in _calls(node, names)]


def _calls(node: Node, names: Mapping[int, str]) -> Iterator[Call]:
    models = tuple(map(plain, node.models))
    place = names[id(node)]
    if node.own_function and isinstance(node, Expand | Stateful):
        runs = f"{ARROW}, state by {', '.join(node.keys)}" if isinstance(node, Stateful) else ARROW
        text = f"{node.function}(…)" if isinstance(node, Stateful) else str(node.call)
        yield Call(node.function, place, models, text, runs, _rows(node.input, names))
        return
    counted: Counter[tuple[str, str]] = Counter()
    for expression in node.expressions:
        for function in expression.functions:
            counted[function, str(expression)] += 1
    for (function, text), times in counted.items():
        yield Call(function, place, models, text, ARROW, _rows(node.inputs[0], names), times)


def _rows(node: Node, names: Mapping[int, str]) -> str:
    """Say which rows come: those of the nearest operator that makes or joins rows, and what filters leave."""
    kept: list[Expression] = []
    while isinstance(node, Filter) or node.one_to_one:
        if isinstance(node, Filter):
            kept = [*node.conditions, *kept]
        (node,) = node.inputs
    where = f" where {conditions_text(tuple(kept))}" if kept else ""
    return f"rows of {names[id(node)]}{where}"
