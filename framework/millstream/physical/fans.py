"""What can be written within a fan-out: filters and projections above rows that all its models read."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.expressions import Expression, windows
from millstream.physical.calling import callable_in_fan_out
from millstream.plan.nodes import Decode, Filter, Node, Output, Project, Watermark
from millstream.plan.traits import traits_of


def decoding(node: Node) -> Node:
    """Return what some filters are above."""
    while isinstance(node, Filter):
        node = node.input
    return node


def fan_base(output: Output, *, watermarks: bool = False, calls: bool = False) -> Node:
    """Return the last node below an output that a fan-out can't be written over; its columns are plain ones.

    `watermarks` passes through them: where nothing keeps state, nobody asks how late a row is. `calls` lets
    calls of Python functions be columns.
    """
    chain: list[Node] = []
    node = output.input
    while isinstance(node, Filter | Project) or (watermarks and isinstance(node, Watermark)):
        chain.append(node)
        node = node.input
    return _base(chain, node, calls=calls)


def fans_out(output: Output, base: Node) -> bool:
    """Tell whether all between an output and what is below it can be written in a fan-out."""
    chain: list[Node] = []
    node = output.input
    while node is not base:
        if not isinstance(node, Filter | Project):
            return False
        chain.append(node)
        node = node.input
    if _guarded(chain):
        return False
    return _base(chain, base, calls=isinstance(decoding(base), Decode)) is base


def _guarded(chain: list[Node]) -> bool:
    """Tell whether what can fail is calculated of rows of which some are only there to be deleted.

    Whether a row is one of these must then be a column, which a fan-out has no place for.
    """
    asked = False
    for node in reversed(chain):
        if isinstance(node, Filter):
            asked = asked or traits_of(node).mode == "upsert"
        elif isinstance(node, Project) and asked and any(item.expression.raises for item in node.items):
            return True
    return False


def _base(chain: list[Node], base: Node, *, calls: bool) -> Node:
    made: Mapping[str, bool] = {}
    for node in reversed(chain):
        if not all(_writable(each, made, calls=calls) for each in node.expressions):
            base, made = node, {}
        elif isinstance(node, Project):
            made = {
                item.name: bool(item.expression.functions)
                or any(made.get(name, False) for name in item.expression.columns)
                for item in node.items
                if item.expression.column != item.name or item.name in made
            }
    return base


def _writable(expression: Expression, made: Mapping[str, bool], *, calls: bool) -> bool:
    """Tell whether an expression can be written with what the columns that it reads are made of.

    `made` has the columns that are calculated, and whether a Python function is called for them.
    """
    if not expression.deterministic or expression.reads or windows(expression):
        return False
    if not (callable_in_fan_out(expression) if calls else not expression.functions):
        return False
    return not any(
        (ref.fixed and ref.column in made) or (ref.in_lambda and made.get(ref.column, False))
        for ref in expression.refs
    )
