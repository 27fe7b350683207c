"""The same input in other micro-batches: what a source may do to a model that keeps state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from millstream.testing.units.schedule import Batch
from millstream.testing.units.values import GivenRow, UnitTestCase

Item = tuple[str, GivenRow]
"""A row with the relation that it comes from."""
Order = list[list[Item]]
"""The rows of each step, in the order in which they come."""
Keys = Mapping[str, tuple[str, ...]]
"""By relation: the columns of its records' keys; rows of one key keep their order."""


def rebatch(test: UnitTestCase, keys: Keys) -> Iterator[tuple[str, tuple[Batch, ...]]]:
    """Yield other ways for the same rows to come: in the same steps, in other batches and orders.

    Kafka keeps the order of a partition, and of no two of them: rows of different keys may change places.
    """
    whole: Order = [
        [(given.relation, row) for given in step.given for row in given.rows] for step in test.steps
    ]
    if sum(map(len, whole)) < 2:
        return
    apart = [_other_order(rows, keys) for rows in whole]
    if apart != whole:
        yield "in halves, other keys first", _batches([_parts(rows, 2) for rows in apart])
    yield "in halves", _batches([_parts(rows, 2) for rows in whole])


def split_once(test: UnitTestCase) -> Iterator[tuple[str, tuple[Batch, ...]]]:
    """Yield two batches for one step, split after each row in turn."""
    whole = [[(g.relation, row) for g in step.given for row in g.rows] for step in test.steps]
    for index, rows in enumerate(whole):
        for place in range(1, len(rows)):
            parts = [[each] for each in whole]
            parts[index] = [rows[:place], rows[place:]]
            where = f" of step {index + 1}" if len(whole) > 1 else ""
            yield f"cut after row {place}{where}", _batches(parts)


def _parts(rows: list[Item], number: int) -> list[list[Item]]:
    size = max(1, -(-len(rows) // number))
    return [rows[start : start + size] for start in range(0, len(rows), size)] or [[]]


def _other_order(rows: list[Item], keys: Keys) -> list[Item]:
    """Return rows with the last partition or key first; those of one key stay in their order."""
    groups: dict[str, list[Item]] = {}
    for relation, row in rows:
        groups.setdefault(_lane(relation, row, keys), []).append((relation, row))
    return list(chain.from_iterable(reversed(groups.values())))


def _lane(relation: str, row: GivenRow, keys: Keys) -> str:
    """Return what rows have in common whose order is kept."""
    own = [row.values.get(name) for name in keys.get(relation, ())]
    return repr((relation, row.about.get("_partition"), row.about.get("_key"), own))


def _batches(steps: Sequence[Sequence[list[Item]]]) -> tuple[Batch, ...]:
    found: list[Batch] = []
    for index, parts in enumerate(steps):
        for place, rows in enumerate(parts):
            by_relation: dict[str, tuple[GivenRow, ...]] = {}
            for relation, row in rows:
                by_relation[relation] = (*by_relation.get(relation, ()), row)
            found.append(Batch(index, by_relation, last=place == len(parts) - 1))
    return tuple(found)
