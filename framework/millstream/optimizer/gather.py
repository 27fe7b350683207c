"""One relation for several: the rows that one of them keeps, with the keys of all as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from millstream.expressions import Expression, any_of, column
from millstream.optimizer.ways import Pieces, Way
from millstream.plan.nodes import Filter, Item, Node, Project
from millstream.types import BOOLEAN

_MOST = 64
"""More alternatives take longer to ask than they save: nearly every row is one that somebody keeps."""


class Kept(NamedTuple):
    common: dict[Pieces, Expression]
    """What all ask."""
    either: Expression | None
    """What one of them or another asks beside it."""


def kept_by_any(ways: Sequence[Way]) -> Kept:
    """Return the conditions that hold for each row that one of the ways keeps."""
    asked = [way.conditions for way in ways]
    common = {key: e for key, e in asked[0].items() if all(key in other for other in asked)}
    unlike = {tuple(each): each for each in asked}.values()
    rest = [{key: e for key, e in each.items() if key not in common} for each in unlike]
    if not all(rest) or len(rest) > _MOST:
        return Kept(common, None)
    least = [each for each in rest if not any(other.keys() < each.keys() for other in rest)]
    # In an order of its own, so that the same one is known again.
    sides = {
        tuple(sorted(e.text for e in each.values())): sorted(each.values(), key=lambda e: e.text)
        for each in least
    }
    return Kept(common, any_of((sides[key] for key in sorted(sides)), BOOLEAN))


def filtered(base: Node, kept: Kept, models: tuple[str, ...]) -> Node:
    conditions = (*kept.common.values(), *((kept.either,) if kept.either is not None else ()))
    return Filter(input=base, conditions=conditions, models=models) if conditions else base


def with_keys(
    node: Node, keys: Sequence[Expression], names: Sequence[str], models: tuple[str, ...]
) -> tuple[Node, tuple[str, ...]]:
    """Return a node with columns for all keys, and their names; a key that is a column keeps its own."""
    found = tuple(key.column or name for key, name in zip(keys, names, strict=True))
    made = [Item(name, key) for name, key in zip(found, keys, strict=True) if key.column is None]
    if not made:
        return node, found
    plain = (Item(c.name, column(c.name, c.type, nullable=c.nullable)) for c in node.columns)
    return Project(input=node, items=(*plain, *made), models=models), found


def unused_names(names: Iterable[str], used: Iterable[str]) -> tuple[str, ...]:
    """Return names like these that are not used yet, in any case."""
    folded = {name.lower() for name in used}
    found: list[str] = []
    for name in names:
        unused = name
        while unused.lower() in folded:
            unused += "_"
        folded.add(unused.lower())
        found.append(unused)
    return tuple(found)
