"""Finds the groups that a sink sends, if their condition can become false again.

    having sum(value) > 20  →  the same, of the groups for which matched(sum(value) > 20) is true

Spark's aggregate gives the groups that have new rows, but not what they were. A sink needs tombstones only
for those that matched. So the state has copies of the aggregates that the condition reads, and the number of
the batch that changed them (Matched.java). A condition that lasts needs none: `plan/lasting_conditions.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, all_of, column_expression
from millstream.core.types import BOOLEAN, INTEGERS, STRING, Decimal
from millstream.plan.lasting_conditions import lasting_conditions
from millstream.plan.nodes import (
    Aggregate,
    Filter,
    Item,
    Matched,
    MatchedGroups,
    Measure,
    Node,
    Output,
    Plan,
    Project,
)
from millstream.plan.traits import traits_of
from millstream.queries.emit import every_tombstone
from millstream.queries.emit.draft import compose_expression
from millstream.sql.substitution import can_substitute, substitute_columns
from millstream.sql.trees import is_distinct

_COPIED = frozenset((
    "any", "avg", "bool_and", "bool_or", "count", "count_if", "every", "max", "mean", "min", "some", "std",
    "stddev", "stddev_pop", "stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "var_samp", "variance",
))  # fmt: skip
"""Spark computes these by expressions over their state (DeclarativeAggregate)."""
_AVERAGES = frozenset(("avg", "mean", "try_avg"))

Readers = Mapping[int, Sequence[Node]]


class _Above(Struct, frozen=True, eq=False):
    """What is between an aggregate and a node above it."""

    nodes: tuple[Node, ...]
    """From the aggregate on."""
    columns: Mapping[str, Expression]
    """The columns of the last node, over those of the aggregate."""
    conditions: tuple[Expression, ...] = ()
    lasting: bool = True
    """All conditions stay true of a group once they are."""


class _Groups(Struct, frozen=True, eq=False):
    """The groups that one reader gets, above everything that it shares with others."""

    reader: Node
    shared: tuple[Node, ...]
    """From the aggregate on."""
    matched: Matched | None
    """None if it gets all groups."""


def with_matched_groups(plan: Plan) -> Plan:
    """Return a plan whose sinks get the groups that match, and those that matched before the batch."""
    readers: dict[int, list[Node]] = defaultdict(list)
    for node in plan.order:
        for child in node.inputs:
            readers[id(child)].append(node)
    all_groups: list[_Groups] = []
    number = 0
    for node in plan.order:
        if (
            isinstance(node, Aggregate)
            and node.emit == "on_change"
            and traits_of(node.input).mode == "append"
        ):
            groups = list(_groups(node, readers, number))
            if any(group.matched for group in groups):
                all_groups += groups
                number += len(groups)
    return _rebuilt(plan, all_groups) if all_groups else plan


def _rebuilt(plan: Plan, groups: Iterable[_Groups]) -> Plan:
    carried: dict[int, dict[str, Matched]] = defaultdict(dict)
    for group in groups:
        for node in group.shared if group.matched is not None else ():
            assert group.matched is not None
            carried[id(node)][group.matched.name] = group.matched
    edges = {(id(group.shared[-1]), id(group.reader)): group for group in groups}
    new: dict[int, Node] = {}
    for node in plan.order:
        inputs = []
        for input_node in node.inputs:
            edge, hides = edges.get((id(input_node), id(node))), tuple(carried[id(input_node)])
            inputs.append(
                _read(new[id(input_node)], edge, hides) if edge is not None else new[id(input_node)]
            )
        new[id(node)] = _carrying(node.with_inputs(*inputs), carried[id(node)])
    outputs = (new[id(output)] for output in plan.outputs)
    return Plan(tuple(output for output in outputs if isinstance(output, Output)))


def _read(over: Node, groups: _Groups, hides: tuple[str, ...]) -> Node:
    """Return what a reader gets instead of all groups."""
    if not hides:
        return over
    name = groups.matched and groups.matched.name
    conditions = (column_expression(name, BOOLEAN, nullable=False),) if name else ()
    return MatchedGroups(input=over, models=over.models, conditions=conditions, hides=hides)


def _carrying(node: Node, matched: Mapping[str, Matched]) -> Node:
    """Return a node with more columns."""
    if matched and isinstance(node, Aggregate):
        return replace(node, measures=(*node.measures, *matched.values()))
    if matched and isinstance(node, Project):
        items = (Item(name, column_expression(name, BOOLEAN, nullable=False)) for name in matched)
        return replace(node, items=(*node.items, *items))
    return node


def copying_columns(order: Iterable[Node]) -> tuple[str, ...]:
    """Return the names of the measures whose state has copies of others, in the order of the states."""
    aggregates = (node for node in order if isinstance(node, Aggregate))
    return tuple(
        measure.name for node in aggregates for measure in node.measures if isinstance(measure, Matched)
    )


def _groups(node: Aggregate, readers: Readers, number: int) -> Iterator[_Groups]:
    """Yield the groups that each reader of an aggregate gets; `number` makes names unique."""
    columns: dict[str, Expression] = {
        field.name: column_expression(field.name, field.type) for field in node.columns
    }
    waiting = [_Above((node,), columns)]
    names: dict[str, str] = {}
    while waiting:
        below = waiting.pop(0)
        for reader in readers[id(below.nodes[-1])]:
            above = _followed(below, reader, readers)
            top = above.nodes[-1]
            if isinstance(top, Filter | Project) and len(readers[id(top)]) > 1:
                waiting.append(above)
                continue
            sent = not above.lasting and _reaches_sink(top, readers)
            matched = _matched(node, above.conditions) if sent else None
            yield _Groups(reader, below.nodes, matched and _named(matched, names, number))


def _named(matched: Matched, names: dict[str, str], number: int) -> Matched:
    """Return a measure with a name that is the same for the same condition."""
    name = names.setdefault(matched.call.text, f"_matched_{number + len(names) + 1}")
    return replace(matched, name=name, call=every_tombstone.matched_aggregate(matched.call, name))


def _followed(below: _Above, reader: Node, readers: Readers) -> _Above:
    """Follow groups as long as they have one reader."""
    above = _passed(below, reader)
    while isinstance(top := above.nodes[-1], Filter | Project) and len(readers[id(top)]) == 1:
        above = _passed(above, readers[id(top)][0])
    return above


def _passed(below: _Above, node: Node) -> _Above:
    nodes, columns = (*below.nodes, node), below.columns
    match node:
        case Project():
            items = {
                name: substitute_columns(expression, columns)
                for name, expression in node.definitions.items()
                if _fits(expression, columns)
            }
            return replace(below, nodes=nodes, columns=items)
        case Filter():
            fitting = tuple(condition for condition in node.conditions if _fits(condition, columns))
            conditions = (
                *below.conditions,
                *(substitute_columns(condition, columns) for condition in fitting),
            )
            lasting = below.lasting and set(fitting) <= set(lasting_conditions(node))
            return _Above(nodes, columns, conditions, lasting)
    return replace(below, nodes=nodes)


def _reaches_sink(node: Node, readers: Readers) -> bool:
    if isinstance(node, Output):
        return node.materialization.sends_records
    return any(_reaches_sink(reader, readers) for reader in readers[id(node)])


def _fits(expression: Expression, columns: Mapping[str, Expression]) -> bool:
    """Whether an expression over columns always gives the same, wherever it is written."""
    return (
        expression.deterministic
        and not (expression.functions or expression.reads or expression.variables)
        and not any(ref.in_lambda or ref.fixed or ref.named for ref in expression.refs)
        and expression.columns <= columns.keys()
        and can_substitute(expression, columns)
    )


def _matched(node: Aggregate, conditions: Iterable[Expression]) -> Matched | None:
    """Return the measure of the conditions that read only aggregates and keys that can be copied."""
    calls = {measure.name: _call(measure) for measure in node.measures if _can_copy(measure)}
    calls |= {key.name: _of_key(key) for key in node.keys if _is_ordered(key)}
    measured = {measure.name for measure in node.measures}
    fitting = [
        condition for condition in conditions if _fits(condition, calls) and condition.columns & measured
    ]
    if not fitting:
        return None
    copies = dict.fromkeys(ref.column for condition in fitting for ref in condition.refs)
    condition = all_of((substitute_columns(_holds(condition), calls) for condition in fitting), BOOLEAN)
    return Matched("", condition, "matched", copies=tuple(copies))


def _holds(condition: Expression) -> Expression:
    return compose_expression(
        [condition], ("coalesce(", *condition.pieces, ", false)"), BOOLEAN, nullable=False
    )


def _can_copy(measure: Measure) -> bool:
    return (
        measure.function in _COPIED
        and all(
            expression.deterministic and not expression.functions and not expression.reads
            for expression in measure.expressions
        )
        and not is_distinct(measure.call)
        # Spark averages short decimals as doubles (DecimalAggregates), and a copy as decimals.
        and not (measure.function in _AVERAGES and isinstance(measure.call.type, Decimal))
    )


def _call(measure: Measure) -> Expression:
    if measure.condition is None:
        return measure.call
    pieces: tuple[Piece, ...] = (*measure.call.pieces, " filter (where ", *measure.condition.pieces, ")")
    return compose_expression(measure.expressions, pieces, measure.call.type)


def _is_ordered(key: Item) -> bool:
    return key.expression.column is not None and key.expression.type in {*INTEGERS, STRING}


def _of_key(key: Item) -> Expression:
    """Return an aggregate with the value of a key, which all rows of a group have."""
    return compose_expression([key.expression], ("max(", *key.expression.pieces, ")"), key.expression.type)
