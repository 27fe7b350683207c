"""How the rows of two versions of a model differ."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from millstream.stores.tables.values import Answer

Row = dict[str, Any]


class RowChange(Struct, frozen=True):
    """A row before and after; one of both is None for a row that is new or gone."""

    before: Row | None
    after: Row | None
    columns: tuple[str, ...] = ()
    """The columns that differ, of a row that is in both versions."""


class RowChanges(Struct, frozen=True):
    same: int
    added: int
    removed: int
    changed: int
    new_columns: tuple[str, ...] = ()
    lost_columns: tuple[str, ...] = ()
    rows: tuple[RowChange, ...] = ()
    """All rows that differ: those of both versions, then new ones, then those that are gone."""


def compare_rows(before: Answer, after: Answer, identity: Collection[str]) -> RowChanges:
    """Compare rows in any order; rows with equal values of `identity` are versions of one row.

    Columns that only one version has are no difference of rows.
    """
    shared = [column for column in after.columns if column in before.columns]
    old, new = _without_equal(_as_dicts(before), _as_dicts(after), shared)
    same = len(after.rows) - len(new)
    changed, gone, added = _pair(old, new, [column for column in shared if column in identity], shared)
    return RowChanges(
        same,
        len(added),
        len(gone),
        len(changed),
        tuple(column for column in after.columns if column not in shared),
        tuple(column for column in before.columns if column not in shared),
        (*changed, *(RowChange(None, row) for row in added), *(RowChange(row, None) for row in gone)),
    )


def _as_dicts(answer: Answer) -> list[Row]:
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def _values(row: Row, columns: Sequence[str]) -> str:
    """Return values that can be compared and counted: rows hold lists, maps and NaN."""
    return repr([row[column] for column in columns])


def _without_equal(
    before: Sequence[Row], after: Sequence[Row], columns: Sequence[str]
) -> tuple[list[Row], list[Row]]:
    """Leave out rows that both versions have, each as often as both have it."""
    left = Counter(_values(row, columns) for row in before)
    both: Counter[str] = Counter()
    new = []
    for row in after:
        values = _values(row, columns)
        if left[values] > both[values]:
            both[values] += 1
        else:
            new.append(row)
    old = []
    for row in before:
        values = _values(row, columns)
        if both[values]:
            both[values] -= 1
        else:
            old.append(row)
    return old, new


def _pair(
    before: Sequence[Row], after: Sequence[Row], identity: Sequence[str], columns: Sequence[str]
) -> tuple[list[RowChange], list[Row], list[Row]]:
    """Return rows that changed, that are gone, and that are new."""
    if not identity:
        return [], [*before], [*after]
    waiting: defaultdict[str, deque[Row]] = defaultdict(deque)
    for row in before:
        waiting[_values(row, identity)].append(row)
    changed, added = [], []
    for row in after:
        if candidates := waiting[_values(row, identity)]:
            old = candidates.popleft()
            differing = tuple(name for name in columns if repr(old[name]) != repr(row[name]))
            changed.append(RowChange(old, row, differing))
        else:
            added.append(row)
    return changed, [row for rows in waiting.values() for row in rows], added
