"""Builds one relation for several readers: the rows that any of them keeps, with all keys as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from millstream.core.expressions import Expression, any_of
from millstream.core.node_id import NodeId
from millstream.core.types import BOOLEAN
from millstream.plan.nodes import Filter, Item, Node, Project
from millstream.plan.optimizer.paths import BasePath, Pieces

_MOST = 64
"""More alternatives cost more than they save, since some reader keeps nearly every row."""


class SharedConditions(NamedTuple):
    common: dict[Pieces, Expression]
    """The conditions of all ways."""
    either: Expression | None
    """The OR of their other conditions."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (*self.common.values(), *((self.either,) if self.either is not None else ()))


def true_for_any(ways: Sequence[BasePath]) -> SharedConditions:
    """Return conditions that are true for each row that any of the ways keeps."""
    conditions = [way.conditions for way in ways]
    common = {
        key: expression
        for key, expression in conditions[0].items()
        if all(key in other for other in conditions)
    }
    unlike = {tuple(alternative): alternative for alternative in conditions}.values()
    rest = [
        {key: expression for key, expression in alternative.items() if key not in common}
        for alternative in unlike
    ]
    if not all(rest) or len(rest) > _MOST:
        return SharedConditions(common, None)
    return SharedConditions(common, either_of(rest))


def either_of(alternatives: Sequence[Mapping[Pieces, Expression]]) -> Expression:
    """Return the OR of alternatives, in a canonical order, so that equal conditions are recognized."""
    least = [
        alternative
        for alternative in alternatives
        if not any(other.keys() < alternative.keys() for other in alternatives)
    ]
    sides = {
        tuple(sorted(expression.text for expression in alternative.values())): sorted(
            alternative.values(), key=lambda expression: expression.text
        )
        for alternative in least
    }
    return any_of((sides[key] for key in sorted(sides)), BOOLEAN)


def add_filter(base: Node, conditions: SharedConditions, models: tuple[NodeId, ...]) -> Node:
    expressions = conditions.expressions
    return Filter(input=base, conditions=expressions, models=models) if expressions else base


def with_keys(
    node: Node, keys: Sequence[Expression], names: Sequence[str], models: tuple[NodeId, ...]
) -> tuple[Node, tuple[str, ...]]:
    """Return a node with columns for all keys, and their names; a key that is a column keeps its name."""
    column_names = tuple(key.column or name for key, name in zip(keys, names, strict=True))
    computed = [Item(name, key) for name, key in zip(column_names, keys, strict=True) if key.column is None]
    if not computed:
        return node, column_names
    return Project(
        input=node, items=(*(column.item for column in node.columns), *computed), models=models
    ), column_names


def unused_names(names: Iterable[str], used: Iterable[str]) -> tuple[str, ...]:
    """Return unused names like these, ignoring case."""
    folded = {name.lower() for name in used}
    unique: list[str] = []
    for name in names:
        unused = name
        while unused.lower() in folded:
            unused += "_"
        folded.add(unused.lower())
        unique.append(unused)
    return tuple(unique)
