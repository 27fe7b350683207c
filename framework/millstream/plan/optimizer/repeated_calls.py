"""Which topics to read back, since another query would call the Python functions of their writer again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Binary, Decode, Expand, Filter, Node, Output, Project, Union
from millstream.plan.optimizer.context import RuleContext
from millstream.plan.optimizer.needs import all_needs
from millstream.plan.traits import traits_of
from millstream.plan.walk import below


class _Calls(Struct, frozen=True):
    """What calls of Python functions decide of the rows of a node."""

    rows: bool = False
    """Which rows there are."""
    columns: frozenset[str] = frozenset()
    """The values of these columns, in lower case."""


def repeats_calls(context: RuleContext, rule: str, writers: Mapping[int, Output]) -> set[int]:
    """Return the reads of topics whose readers would call a function again that their writer calls.

    `writers` are the outputs that write what is read, by the `id` of the read. A state is never kept by two
    queries, so what is called below or above one is called once.
    """
    functions = context.hints.costly_calls
    if not functions or context.hints.queries == "one":
        return set()
    needs = all_needs(context, rule).of
    outputs = _outputs_above(context)
    by_node: dict[int, _Calls] = {}
    by_model: dict[NodeId, _Calls] = {}
    repeated: set[int] = set()
    for node in context.order:
        writer = writers.get(id(node))
        if isinstance(node, Decode) and writer is not None:
            calls = by_model.get(writer.model, _Calls())
            called = calls.rows or not calls.columns.isdisjoint(needs[id(node)])
            if called and not _in_its_query(context, node, writer, outputs[id(node)]):
                repeated.add(id(node))
                calls = _Calls()
        else:
            calls = _calls(node, [by_node[id(input_node)] for input_node in node.inputs], functions)
        by_node[id(node)] = calls
        if isinstance(node, Output):
            by_model[node.model] = calls
    return repeated


def _outputs_above(context: RuleContext) -> Mapping[int, dict[NodeId, Output]]:
    """Return the outputs above each node, by its `id`."""
    outputs: dict[int, dict[NodeId, Output]] = {}
    for node in reversed(context.order):
        above = outputs.setdefault(id(node), {node.model: node} if isinstance(node, Output) else {})
        for input_node in node.inputs:
            outputs.setdefault(id(input_node), {}).update(above)
    return outputs


def _in_its_query(
    context: RuleContext, node: Decode, writer: Output, readers: Mapping[NodeId, Output]
) -> bool:
    """Return whether all readers of a topic run in the query that writes it."""
    if traits_of(writer.input).below:
        return True  # see `_Queries` of `bypass_topics`
    return context.hints.queries != "separate" and all(
        _fits(node, writer, reader) for reader in readers.values() if reader.materialization.stored_as
    )


def _fits(node: Decode, writer: Output, reader: Output) -> bool:
    """Return whether a reader fits the fan-out of a writer: it only filters and projects its rows."""
    if below(reader.input, Filter, Project) is not node or writer.sends_changes or reader.sends_changes:
        return False
    return (writer.group, writer.producer, writer.materialization.stored_as) == (
        reader.group,
        reader.producer,
        reader.materialization.stored_as,
    )


def _calls(node: Node, inputs: list[_Calls], functions: Collection[str]) -> _Calls:
    rows = any(below.rows for below in inputs)
    columns = frozenset[str]().union(*(below.columns for below in inputs))

    def called(expressions: Iterable[Expression]) -> bool:
        return any(
            not expression.folded.isdisjoint(columns) or not set(expression.functions).isdisjoint(functions)
            for expression in expressions
        )

    match node:
        case _ if node.stateful:
            return _Calls()
        case Project():
            return _Calls(
                rows, frozenset(item.name.lower() for item in node.items if called((item.expression,)))
            )
        case Filter():
            return _Calls(rows or called(node.conditions), columns)
        case Expand():
            generated = {column.name.lower() for column in node.generated}
            is_called = called((node.call,))
            return _Calls(rows or is_called, columns | generated if is_called else columns)
        case Union():
            called_positions = {
                position
                for side, calls in zip(node.sides, inputs, strict=True)
                for position, column in enumerate(side.columns)
                if column.name.lower() in calls.columns
            }
            names = [column.name.lower() for column in node.columns]
            return _Calls(rows, frozenset(names[position] for position in called_positions))
        case Binary():
            sides = {"left": inputs[0].columns, "right": inputs[1].columns}
            columns = frozenset(j.name.lower() for j in node.joined if j.source.lower() in sides[j.side])
            return _Calls(rows or called(node.on), columns)
        case _:
            return _Calls(rows, columns)
