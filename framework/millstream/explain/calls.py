"""The calls of Python functions in a plan: on which rows they run, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from msgspec import Struct

from millstream.explain.names import model_name, node_names
from millstream.formats.registry import format_of
from millstream.plan.nodes import (
    Decode,
    Expand,
    Maintained,
    Node,
    Output,
    Plan,
    Stateful,
    conditions_text,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.walk import filtered_rows


class FunctionCalls(Struct, frozen=True):
    function: str
    node: str
    """The operator that calls it."""
    models: tuple[str, ...]
    text: str
    """The expression that contains it."""
    runs: str
    rows: str
    """The rows on which it runs."""
    times: int = 1
    """How often it runs for each row."""


ARROW = "Python over Arrow batches"
NATIVE = "natively in the JVM"


def python_calls(plan: Plan, obstacles: Mapping[str, str]) -> list[FunctionCalls]:
    """Return the calls of a plan, sources first; `obstacles` says why functions run in Python."""
    names = node_names(plan)
    return [call for node in in_order(plan.outputs) for call in _calls(node, names, obstacles)]


def _calls(node: Node, names: Mapping[int, str], obstacles: Mapping[str, str]) -> Iterator[FunctionCalls]:
    models = tuple(map(model_name, node.models))
    name = names[id(node)]
    yield from _formats(node, models, name, names)
    if node.own_function and isinstance(node, Expand | Stateful):
        runs = f"{ARROW}, state by {', '.join(node.keys)}" if isinstance(node, Stateful) else ARROW
        text = f"{node.function}(…)" if isinstance(node, Stateful) else str(node.call)
        yield FunctionCalls(node.function, name, models, text, runs, _rows(node.input, names))
        return
    counted = Counter(
        (function, str(expression)) for expression in node.expressions for function in expression.functions
    )
    for (function, text), times in counted.items():
        rows = _rows(node.inputs[0], names)
        yield FunctionCalls(function, name, models, text, _runs(function, obstacles), rows, times)
    if isinstance(node, Maintained):
        by = ", ".join(node.maintenance.by)
        rows = f"its rows with touched values of {by}, and those as they were" if by else "all of its rows"
        for function in node.called:
            yield FunctionCalls(function, name, models, f"{function}(…)", _runs(function, obstacles), rows)


def _runs(function: str, obstacles: Mapping[str, str]) -> str:
    return f"{ARROW}, because of {obstacles[function]}" if function in obstacles else NATIVE


def _formats(
    node: Node, models: tuple[str, ...], name: str, names: Mapping[int, str]
) -> Iterator[FunctionCalls]:
    """Yield the calls of functions that decode or encode records."""
    match node:
        case Decode():
            parts = [("value", format_of(node.format).decoder)] if node.fields else []
            if node.key is not None or "_key" in node.metadata:
                parts.append(("key", format_of(node.key_format).decoder))
            rows = f"records of {names[id(node.input)]}"
        case Output():
            parts = [(part, format_of(encoding).encoder) for part, encoding in node.materialization.encodings]
            rows = _rows(node.input, names)
        case _:
            return
    for part, function in parts:
        if function:
            yield FunctionCalls(function, name, models, f"{function}({part})", ARROW, rows)


def _rows(node: Node, names: Mapping[int, str]) -> str:
    """Describe the input rows: the nearest operator upstream that creates rows, and the filters between."""
    input_node, conditions = filtered_rows(node)
    filters = [
        [condition for _, condition in pairs]
        for _, pairs in groupby(conditions, key=lambda pair: id(pair[0]))
    ]
    where = (
        f" where {conditions_text([condition for pairs in reversed(filters) for condition in pairs])}"
        if conditions
        else ""
    )
    return f"rows of {names[id(input_node)]}{where}"
