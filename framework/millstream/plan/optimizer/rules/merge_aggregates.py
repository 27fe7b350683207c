"""Aggregates of one input by one key become one aggregate with one state.

count(*) by user where a; sum(x) by user where b
count(*) filter (where a), sum(x) filter (where b) by user → for each model, the groups that it has rows in

Applied only if selected by name, because a change to one of the models then changes the state of all.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, all_of, column_expression, join_pieces
from millstream.core.types import BIGINT, BOOLEAN
from millstream.plan.nodes import Aggregate, Filter, Item, Measure, Node, Plan, Project, Repartition
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.optimizer.names import models_of
from millstream.plan.optimizer.paths import BasePath, Pieces, base_paths
from millstream.plan.optimizer.shared_input import add_filter, true_for_any, unused_names, with_keys
from millstream.plan.walk import rewrite_plan
from millstream.sql.call_pieces import call_arguments
from millstream.sql.trees import called_function, is_distinct

_NAME = "merge_aggregates"
_NAMES = """
count count_if sum avg mean min max bool_and bool_or every some any stddev stddev_samp stddev_pop variance
var_samp var_pop collect_set max_by min_by approx_count_distinct
"""
_MERGES = frozenset(_NAMES.split())
"""Aggregates whose result depends only on the rows that they count, not on other rows or on row order."""
_SEE_NULL = "count count_if max_by min_by bool_and bool_or every some any"
_IGNORE_NULL = _MERGES.difference(_SEE_NULL.split())
"""Those of one argument to which a NULL makes no difference."""


class _Part(NamedTuple):
    """One aggregate, on the columns of the relation that it shares with others."""

    aggregate: Aggregate
    repartition: Repartition | None
    """The repartition below it, if it has its own."""
    way: BasePath

    @property
    def keys(self) -> tuple[Expression, ...]:
        return self.way.expressions[: len(self.aggregate.keys)]

    @property
    def measures(self) -> list[Measure]:
        low = list(self.way.expressions[len(self.aggregate.keys) :])
        measures: list[Measure] = []
        for measure in self.aggregate.measures:
            call = low.pop(0)
            condition = low.pop(0) if measure.condition is not None else None
            measures.append(replace(measure, call=call, condition=condition))
        return measures


def merge_aggregates(plan: Plan, context: RuleContext) -> Result:
    if not any(isinstance(node, Aggregate) for node in context.changed(_NAME)):
        return plan, ()
    groups = _groups(context)
    if not groups:
        return plan, ()
    of = {id(p.aggregate): (g, i) for g, parts in enumerate(groups) for i, p in enumerate(parts)}
    new: dict[int, Node] = {}
    merged: dict[int, _Merged] = {}

    def visit(node: Node, before: Node) -> Node:
        new[id(before)] = node
        if id(before) not in of:
            return node
        group, index = of[id(before)]
        if group not in merged:
            merged[group] = _merged(groups[group], new[id(groups[group][0].way.base)])
        return _of(groups[group][index], index, merged[group])

    return rewrite_plan(plan, visit), tuple(map(_change, groups))


# -- finding aggregates to merge


def _groups(context: RuleContext) -> list[list[_Part]]:
    """Put each aggregate with the most others, at the nearest common input."""
    candidates: defaultdict[tuple[object, ...], list[_Part]] = defaultdict(list)
    for node in context.order:
        if isinstance(node, Aggregate) and node.keys and _merges(node, context):
            for part in _parts(node, context):
                candidates[_kind(part)].append(part)
    position = {id(node): index for index, node in enumerate(context.order)}
    groups: list[list[_Part]] = []
    taken: set[int] = set()
    for parts in sorted(
        candidates.values(), key=lambda parts: (-len(parts), -position[id(parts[0].way.base)])
    ):
        group = [part for part in parts if id(part.aggregate) not in taken]
        if len(group) > 1:
            groups.append(group)
            taken.update(id(part.aggregate) for part in group)
    return groups


def _merges(node: Aggregate, context: RuleContext) -> bool:
    return context.allows(_NAME, node) and all(
        measure.function in _MERGES
        and not is_distinct(measure.call)
        and not measure.call.functions
        and measure.call.deterministic
        for measure in node.measures
    )


def _parts(node: Aggregate, context: RuleContext) -> list[_Part]:
    input_node = node.input
    repartition = (
        input_node if isinstance(input_node, Repartition) and not context.shared(input_node) else None
    )
    parts = [
        _Part(node, repartition, way)
        for way in base_paths(repartition.input if repartition else input_node, node.expressions, context)
        if way.complete and context.allows(_NAME, *way.steps)
    ]
    return [part for part in parts if _may_filter(part)]


def _may_filter(part: _Part) -> bool:
    """Return whether its measures can be evaluated over rows of others, which FILTER only removes afterwards.

    A session consists of all rows in time, so rows of others would extend it.
    """
    if not part.way.conditions:
        return True
    if any(called_function(key) == "session_window" for key in part.keys):
        return False
    return all(not _raises_below(m) or _argument(m) is not None for m in part.measures) and not any(
        m.condition is not None and m.condition.raises for m in part.measures
    )


def _raises_below(measure: Measure) -> bool:
    """Return whether its argument can fail; the call itself only fails on what it keeps."""
    pieces = measure.call.pieces
    of_column = len(pieces) == 3 and pieces[2] == ")" and isinstance(pieces[1], Ref)
    return measure.call.raises and not of_column


def _argument(measure: Measure) -> tuple[Piece, ...] | None:
    """Return the argument, if the rows of others can have NULL instead of it."""
    if measure.function not in _IGNORE_NULL or called_function(measure.call) != measure.function:
        return None
    arguments = call_arguments(measure.call)
    return arguments[0] if len(arguments) == 1 and measure.call.refs else None


def _kind(part: _Part) -> tuple[object, ...]:
    # A session depends on all of its rows, so aggregates with sessions must have the same conditions.
    session = any(called_function(key) == "session_window" for key in part.keys)
    aggregate = part.aggregate if session and part.way.conditions else None
    keys = frozenset(key.pieces for key in part.keys)
    return id(part.way.base), keys, part.aggregate.emit, part.repartition is None, aggregate and id(aggregate)


# -- the merged aggregate


class _Merged(NamedTuple):
    aggregate: Aggregate
    conditions: list[tuple[Expression, ...]]
    """By part: its conditions besides the common ones, which are applied below."""
    keys: dict[Pieces, str]
    """The name of a key, by its pieces over the columns of the base."""
    measures: list[dict[str, str]]
    """By part: the name of each measure; the empty name is for the row count."""


def _merged(parts: list[_Part], base: Node) -> _Merged:
    models = models_of(*(part.aggregate for part in parts))
    first = parts[0]
    shared = true_for_any([part.way for part in parts])
    own_conditions = [
        tuple(expression for pieces, expression in part.way.conditions.items() if pieces not in shared.common)
        for part in parts
    ]
    node = add_filter(base, shared, models)
    plain = [i for i, item in enumerate(first.aggregate.keys) if item.expression.column is not None]
    key_names = unused_names((first.aggregate.keys[i].name for i in plain), base.names)
    node, names = with_keys(node, [first.keys[i] for i in plain], key_names, models)
    if first.repartition is not None:
        node = Repartition(input=node, keys=names, models=models)
    low = [node.column(name) for name in names]
    keys = {i: column.item for i, column in zip(plain, low, strict=True)}
    (window,) = unused_names(["window"], node.names)
    items = tuple(keys.get(i) or Item(window, key) for i, key in enumerate(first.keys))
    measures: list[Measure] = []
    named: list[dict[str, str]] = []
    for index, part in enumerate(parts):
        named.append(_names(part, index))
        measures += _with_conditions(part, own_conditions[index], named[-1])
    aggregate = Aggregate(
        input=node, keys=items, measures=tuple(measures), emit=first.aggregate.emit, models=models
    )
    by_key = {key.pieces: item.name for key, item in zip(first.keys, items, strict=True)}
    return _Merged(aggregate, own_conditions, by_key, named)


def _with_conditions(part: _Part, conditions: tuple[Expression, ...], names: dict[str, str]) -> list[Measure]:
    measures: list[Measure] = []
    for measure in part.measures:
        combined = (*conditions, *((measure.condition,) if measure.condition is not None else ()))
        condition = all_of(combined, BOOLEAN) if combined else None
        measures.append(
            _where(replace(measure, name=names[measure.name]), condition, is_unchanged=not conditions)
        )
    if conditions:
        call = Expression(("count(*)",), BIGINT, nullable=False, atomic=True)
        measures.append(Measure(names[""], call, "count", all_of(conditions, BOOLEAN)))
    return measures


def _where(measure: Measure, condition: Expression | None, *, is_unchanged: bool) -> Measure:
    """Return a measure of some rows, which evaluates nothing that can fail on others.

    Spark may evaluate the arguments of FILTER for all rows, but not the branches of CASE.
    """
    argument = _argument(measure)
    if condition is None or is_unchanged or argument is None or not _raises_below(measure):
        return replace(measure, condition=condition)
    pieces = (f"{measure.function}(case when ", *condition.pieces, " then ", *argument, " end)")
    return replace(measure, call=replace(measure.call, pieces=join_pieces(pieces)), condition=None)


def _names(part: _Part, index: int) -> dict[str, str]:
    name = part.aggregate.models[0].shown_name if part.aggregate.models else "rows"
    return {"": f"{name}_rows_{index}"} | {
        m.name: f"{name}_{m.name}_{index}" for m in part.aggregate.measures
    }


def _of(part: _Part, index: int, merged: _Merged) -> Node:
    """Return one model's columns, for the groups in which it had rows."""
    aggregate = part.aggregate
    names = merged.measures[index]
    node: Node = merged.aggregate
    if merged.conditions[index]:
        some = Expression((Ref(names[""]), " > 0"), BOOLEAN, nullable=False)
        node = Filter(input=node, conditions=(some,), models=aggregate.models)
    column_names = [merged.keys[key.pieces] for key in part.keys] + [
        names[m.name] for m in aggregate.measures
    ]
    items = tuple(
        Item(column.name, column_expression(name, column.type, nullable=column.nullable))
        for column, name in zip(aggregate.columns, column_names, strict=True)
    )
    keys = tuple(key.name for key in aggregate.keys) if aggregate.emit == "on_change" else ()
    return Project(input=node, items=items, keys=keys, label=aggregate.label, models=aggregate.models)


def _change(parts: list[_Part]) -> PlanChange:
    models = models_of(*(part.aggregate for part in parts))
    names = ", ".join(model.shown_name for model in models)
    return PlanChange(f"{names} share one state", models)
