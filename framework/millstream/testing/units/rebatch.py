"""The same input in other micro-batches, as a source could deliver it to a model that keeps state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from millstream.testing.units.schedule import MicroBatch
from millstream.testing.units.values import GivenRow, UnitTestCase

Item = tuple[str, GivenRow]
"""A row with its relation."""
Keys = Mapping[str, tuple[str, ...]]
"""The key columns of each relation; rows with the same key keep their order."""


def rebatch_rows(test: UnitTestCase, keys: Keys) -> Iterator[tuple[str, tuple[MicroBatch, ...]]]:
    """Yield the same rows of each step in other batches and orders.

    Kafka keeps the order within a partition only, so rows with different keys may be reordered.
    """
    steps = _items(test)
    if sum(map(len, steps)) < 2:
        return
    reordered = [_other_order(rows, keys) for rows in steps]
    if reordered != steps:
        yield "in halves, other keys first", _batches(list(map(_halves, reordered)))
    yield "in halves", _batches(list(map(_halves, steps)))


def split_once(test: UnitTestCase) -> Iterator[tuple[str, tuple[MicroBatch, ...]]]:
    """Yield two batches for one step, split after each row in turn."""
    steps = _items(test)
    for index, rows in enumerate(steps):
        for size in range(1, len(rows)):
            parts = [[step_rows] for step_rows in steps]
            parts[index] = [rows[:size], rows[size:]]
            step = f" of step {index + 1}" if len(steps) > 1 else ""
            yield f"split after row {size}{step}", _batches(parts)


def _items(test: UnitTestCase) -> list[list[Item]]:
    """Return the rows of each step, in order."""
    return [
        [(step_input.relation, row) for step_input in step.inputs for row in step_input.rows]
        for step in test.steps
    ]


def _halves(rows: list[Item]) -> list[list[Item]]:
    middle = (len(rows) + 1) // 2
    return [rows[:middle], rows[middle:]] if len(rows) > 1 else [rows]


def _other_order(rows: list[Item], keys: Keys) -> list[Item]:
    """Return rows with the last partition or key first; rows of one key keep their order."""
    groups: dict[str, list[Item]] = {}
    for relation, row in rows:
        groups.setdefault(_lane(relation, row, keys), []).append((relation, row))
    return list(chain.from_iterable(reversed(groups.values())))


def _lane(relation: str, row: GivenRow, keys: Keys) -> str:
    """Return the relation, partition and key of a row; rows that share them keep their order."""
    key = [row.values.get(name) for name in keys.get(relation, ())]
    return repr((relation, row.metadata.get("_partition"), row.metadata.get("_key"), key))


def _batches(steps: Sequence[Sequence[list[Item]]]) -> tuple[MicroBatch, ...]:
    batches: list[MicroBatch] = []
    for index, parts in enumerate(steps):
        for number, rows in enumerate(parts, start=1):
            by_relation: dict[str, tuple[GivenRow, ...]] = {}
            for relation, row in rows:
                by_relation[relation] = (*by_relation.get(relation, ()), row)
            batches.append(MicroBatch(index, by_relation, last=number == len(parts)))
    return tuple(batches)
