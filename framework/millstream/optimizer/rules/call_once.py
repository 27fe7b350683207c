"""A Python function is called once per row, however often its result is read.

filter score(type) > 10 → project score(type) as score
project *, score(type) as score → filter score > 10 → project score
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec.structs import replace

from millstream.expressions import Expression
from millstream.optimizer.calls import Call, always, calls, with_column
from millstream.optimizer.context import Change, Hints
from millstream.optimizer.gather import unused_names
from millstream.optimizer.local import Applied, Site, local_rule
from millstream.plan.nodes import Filter, Item, Node, Project


class _Twice(NamedTuple):
    call: Call
    result: Expression
    """An expression with just the call."""
    name: str


@local_rule(Project, lambda node, _: any(each.functions for each in node.expressions))
def call_once(node: Project, at: Site) -> Applied | None:
    changes: list[Change] = []
    while (found := _twice(node, at)) is not None:
        changes.append(Change(f"{found.call.function}() is called once for {found.name}", node.models))
        node = _once(node, found, at)
    return Applied(node, tuple(changes)) if changes else None


def _filter(node: Project, at: Site) -> Filter | None:
    below = node.input
    return below if isinstance(below, Filter) and not at.shared(below) else None


def _twice(node: Project, at: Site) -> _Twice | None:
    """Return a call that occurs more than once, inner ones first."""
    below = _filter(node, at)
    conditions = below.conditions if below else ()
    if below and not at.allows(below):
        return None
    expressions = [*conditions, *(item.expression for item in node.items)]
    if sum(len(each.functions) for each in expressions) < 2:
        return None
    found = [(call, each) for each in expressions for call in calls(each)]
    count = Counter(call.pieces for call, _ in found)
    for call, _ in sorted(found, key=lambda pair: len(pair[0].inner)):
        using = [each for other, each in found if other.pieces == call.pieces]
        if count[call.pieces] < 2 or not _runs_for_all(using, conditions):
            continue
        result = _result(call, node, at.hints)
        if result is not None:
            return _Twice(call, *result)
    return None


def _runs_for_all(using: list[Expression], conditions: tuple[Expression, ...]) -> bool:
    """Return whether a call can run for all rows, as in a column: it already does, or can't fail."""
    if using[0] in conditions:
        return always(using[0]) or not using[0].raises
    return any(always(each) or not each.raises for each in using)


def _result(call: Call, node: Project, hints: Hints) -> tuple[Expression, str] | None:
    whole = next((item for item in node.items if item.expression.pieces == call.pieces), None)
    (name,) = unused_names([whole.name if whole else call.function], node.input.names)
    if whole:
        return whole.expression, name
    found = hints.returns.get(call.function)
    if found is None:
        return None
    return Expression(call.pieces, found, raises=True, functions=call.inner), name


def _once(node: Project, twice: _Twice, at: Site) -> Project:
    below = _filter(node, at)
    conditions = below.conditions if below else ()
    made = twice.call, twice.name
    reading = [i for i, each in enumerate(conditions) if with_column(each, *made) is not each]
    first = reading[0] if reading else len(conditions)
    source: Node = below.input if below and reading else node.input
    if below and 0 < first < len(conditions):
        source = Filter(input=source, conditions=conditions[:first], models=below.models)
    items = (*(c.item for c in source.columns), Item(twice.name, twice.result))
    source = Project(input=source, items=items, models=node.models)
    if below and reading:
        left = tuple(with_column(each, *made) for each in conditions[first:])
        source = Filter(input=source, conditions=left, models=below.models)
    items = tuple(Item(item.name, with_column(item.expression, *made)) for item in node.items)
    return replace(node, input=source, items=items)
