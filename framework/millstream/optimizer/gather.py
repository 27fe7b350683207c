"""Builds one relation for several readers: the rows that any of them keeps, with all keys as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from millstream.expressions import Expression, any_of
from millstream.optimizer.ways import Pieces, Way
from millstream.plan.nodes import Filter, Item, Node, Project
from millstream.types import BOOLEAN

_MOST = 64
"""More alternatives cost more than they save, since some reader keeps nearly every row."""


class SharedConditions(NamedTuple):
    common: dict[Pieces, Expression]
    """The conditions of all ways."""
    either: Expression | None
    """The OR of their other conditions."""

    @property
    def listed(self) -> tuple[Expression, ...]:
        return (*self.common.values(), *((self.either,) if self.either is not None else ()))


def kept_by_any(ways: Sequence[Way]) -> SharedConditions:
    """Return conditions that are true for each row that any of the ways keeps."""
    conditions = [way.conditions for way in ways]
    common = {key: e for key, e in conditions[0].items() if all(key in other for other in conditions)}
    unlike = {tuple(each): each for each in conditions}.values()
    rest = [{key: e for key, e in each.items() if key not in common} for each in unlike]
    if not all(rest) or len(rest) > _MOST:
        return SharedConditions(common, None)
    return SharedConditions(common, either_of(rest))


def either_of(alternatives: Sequence[Mapping[Pieces, Expression]]) -> Expression:
    """Return the OR of alternatives, in a canonical order, so that equal conditions are recognized."""
    least = [each for each in alternatives if not any(other.keys() < each.keys() for other in alternatives)]
    sides = {
        tuple(sorted(e.text for e in each.values())): sorted(each.values(), key=lambda e: e.text)
        for each in least
    }
    return any_of((sides[key] for key in sorted(sides)), BOOLEAN)


def filtered(base: Node, conditions: SharedConditions, models: tuple[str, ...]) -> Node:
    listed = conditions.listed
    return Filter(input=base, conditions=listed, models=models) if listed else base


def with_keys(
    node: Node, keys: Sequence[Expression], names: Sequence[str], models: tuple[str, ...]
) -> tuple[Node, tuple[str, ...]]:
    """Return a node with columns for all keys, and their names; a key that is a column keeps its name."""
    found = tuple(key.column or name for key, name in zip(keys, names, strict=True))
    made = [Item(name, key) for name, key in zip(found, keys, strict=True) if key.column is None]
    if not made:
        return node, found
    return Project(input=node, items=(*(c.item for c in node.columns), *made), models=models), found


def unused_names(names: Iterable[str], used: Iterable[str]) -> tuple[str, ...]:
    """Return unused names like these, ignoring case."""
    folded = {name.lower() for name in used}
    found: list[str] = []
    for name in names:
        unused = name
        while unused.lower() in folded:
            unused += "_"
        folded.add(unused.lower())
        found.append(unused)
    return tuple(found)
