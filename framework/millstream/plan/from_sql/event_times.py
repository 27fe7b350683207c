"""Rejects steps with state whose rows have several event times, of which Spark accepts only one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from millstream.core.expressions import Expression, quote_name
from millstream.plan.from_sql.builder import Builder
from millstream.plan.join_times import is_window
from millstream.plan.needs import needed_items, of_input
from millstream.plan.nodes import Dedupe, Filter, Join, Node, Project, Stateful
from millstream.plan.nodes.order import in_order
from millstream.plan.unbounded import StatefulStep
from millstream.sql.trees import ColumnTree, ExpressionTree, FieldOf, called_function, parts_of, tree_of


def check_event_times(builder: Builder, root: Node, steps: Collection[StatefulStep]) -> None:
    """Report the steps that read several event times; Spark reads only the columns that are needed above."""
    # The root of a model gets a label, so it is another node over the same inputs.
    checked = {_identity(step.node): step for step in steps if _is_checked(builder, step.node)}
    for key, times in _times_read(builder, root, {*root.by_name}, checked):
        if len(times) > 1:
            _report(builder, checked[key.node], times, _left_out(builder, root, checked, key))


class _StepInput(NamedTuple):
    """An input of a step with state."""

    node: tuple[object, ...]
    number: int


def _times_read(
    builder: Builder, root: Node, columns: set[str], checked: Collection[tuple[object, ...]]
) -> Iterator[tuple[_StepInput, list[str]]]:
    """Yield the event times that steps read of each input so that a root has some columns."""
    if not checked:
        return
    read: dict[int, set[str]] = {id(root): columns}
    for node in reversed([*in_order((root,))]):
        needed = read[id(node)]
        for index, input_node in enumerate(node.inputs):
            names = _read(builder, node, index, needed) - _by_field(node, input_node, needed)
            read.setdefault(id(input_node), set()).update(names)
            if _identity(node) in checked and builder.traits.of(input_node).mode != "static":
                times = [name for name in _times(builder, input_node) if name.lower() in names]
                yield _StepInput(_identity(node), index), times


def _left_out(
    builder: Builder, root: Node, checked: Collection[tuple[object, ...]], step: _StepInput
) -> list[str]:
    """Return the columns of a view without which a step reads one event time, if there are such columns."""
    if builder.spec.materialization.stored_as:
        return []
    always = dict(_times_read(builder, root, set(), checked))[step]
    if len(always) > 1:
        return []
    times = {
        column: set(dict(_times_read(builder, root, {column}, checked))[step]) for column in root.by_name
    }
    remaining = {*always} or next(
        (of_column for of_column in times.values() if len(of_column) == 1), set[str]()
    )
    return [root.column(column).name for column, of_column in times.items() if of_column - remaining]


def _is_checked(builder: Builder, node: Node) -> bool:
    if isinstance(node, Stateful):
        return node.function in builder.around.row_fields
    return isinstance(node, Join | Dedupe)


def _read(builder: Builder, node: Node, index: int, needed: set[str]) -> set[str]:
    """Return the columns that a step reads of an input; a function gets the fields of its rows alone."""
    if isinstance(node, Stateful) and (fields := builder.around.row_fields.get(node.function)) is not None:
        return {*fields, *map(str.lower, node.keys)}
    return {*of_input(node, index, needed)}


def _identity(node: Node) -> tuple[object, ...]:
    return (type(node), *map(id, node.inputs))


def _report(builder: Builder, step: StatefulStep, times: list[str], left_out: list[str]) -> None:
    names = " and ".join(map(quoted_name, times[:2]))
    what = "one side of this join" if isinstance(step.node, Join) else "the rows of this step"
    message = f"{names} are both event times of {what}, but Spark drops state by only one"
    remedy = (
        "select only one of them in a subquery below it, and the other one as text (cast(… as string)), "
        "or only a field of a window (window.start)"
    )
    if left_out:
        columns = " and ".join(map(quoted_name, left_out))
        remedy = f"leave {columns} out of this view, if no model reads it, or {remedy}"
    if isinstance(step.node, Stateful):
        remedy = (
            "select one of them in a subquery below it as timestamp(cast(… as string)): a plain timestamp"
        )
    builder.report_error("MS541", message, remedy, step.start, step.stop, step.option)


def quoted_name(name: str) -> str:
    return quote_name(name) if quote_name(name).startswith("`") else f"`{name}`"


def _times(builder: Builder, node: Node) -> Iterator[str]:
    """Yield the columns that Spark takes for event times, among them the windows of rows."""
    times = {name for name, _ in builder.traits.of(node).watermarks}
    for column in node.columns:
        of_row = is_window(column.type) and _is_row_window(builder, node, column.name)
        if of_row or column.name in times:
            yield column.name


def _is_row_window(builder: Builder, node: Node, name: str) -> bool:
    """Return whether a column is `window(…)` of an event time, computed for each row."""
    below: Node | None = node
    while below is not None:
        if isinstance(below, Project) and (definition := below.definitions.get(name)) is not None:
            times = {time for time, _ in builder.traits.of(below.input).watermarks}
            return called_function(definition) == "window" and bool(definition.columns & times)
        if (origin := below.origin(name)) is None:
            return False
        below, name = origin
    return False


def _by_field(node: Node, input_node: Node, needed: Collection[str]) -> set[str]:
    """Return the windows of an input that a step reads only by their start and end.

    Catalyst then computes these fields below it (NestedColumnAliasing).
    """
    windows = {column.name.lower() for column in input_node.columns if is_window(column.type)}
    if not windows:
        return windows
    match node:
        case Project():
            expressions = [item.expression for item in needed_items(node, {*needed})]
            return windows - _read_whole(expressions)
        case Filter():
            return windows - {*needed} - _read_whole(node.conditions)
        case Join():
            passed = {j.source.lower() for name, j in node.by_joined.items() if name in needed}
            names = _read_whole(node.on)
            compared = {j.source.lower() for name, j in node.by_joined.items() if name in names}
            return windows - passed - compared
        case _:
            return set()


def _read_whole(expressions: Collection[Expression]) -> set[str]:
    """Return the columns that expressions read as a whole."""
    return {name for expression in expressions for name in _whole_columns(tree_of(expression))}


def _whole_columns(tree: ExpressionTree) -> Iterator[str]:
    match tree:
        case ColumnTree():
            yield tree.name.lower()
        case FieldOf(base=ColumnTree(), name=name) if name.lower() in {"start", "end"}:
            return
        case _:
            for part in parts_of(tree):
                yield from _whole_columns(part)
