"""Compares expected and actual rows in any order, in the columns that a test names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from millstream.core.bipartite_matching import largest_matching
from millstream.core.text import Location
from millstream.testing.units.values import DELETED, ExpectedRow

Row = Mapping[str, Any]


class RowPair(Struct, frozen=True):
    """An expected row and the most similar actual row, or only one of them."""

    expected: dict[str, Any] | None
    actual: dict[str, Any] | None
    wrong: tuple[str, ...] = ()
    """The columns that differ."""
    location: Location | None = None
    """The location of the expected row."""
    cell: Location | None = None
    """The location of its first value that differs."""


class RowDiff(Struct, frozen=True):
    columns: tuple[str, ...]
    pairs: tuple[RowPair, ...]
    same: int
    """How many rows are as expected."""


def diff_rows(
    expected: Sequence[ExpectedRow], actual: Sequence[Row], keys: Sequence[str] = ()
) -> RowDiff | None:
    """Return how rows differ, or None if they don't; rows with equal `keys` are paired."""
    matched = _match_rows([row.values for row in expected], actual)
    if len(matched) == len(expected) == len(actual):
        return None
    missing = [row for index, row in enumerate(expected) if index not in matched]
    taken = set(matched.values())
    extra = [dict(row) for index, row in enumerate(actual) if index not in taken]
    named = dict.fromkeys(name for row in expected for name in row.values)
    shown = named or dict.fromkeys(name for row in actual for name in row)
    pairs = _pair_rows(missing, extra, keys)
    if any(DELETED in (pair.actual or {}) for pair in pairs):
        shown[DELETED] = None
    return RowDiff(tuple(shown), tuple(pairs), len(matched))


def wrong_columns(expected: Row, actual: Row) -> tuple[str, ...]:
    """Return the named columns that differ, and `_deleted` if only one of the rows is deleted."""
    deletion_differs = bool(expected.get(DELETED)) != bool(actual.get(DELETED))
    wrong = [
        name
        for name, value in expected.items()
        if name != DELETED
        and not equal_values(value, actual.get(name))
        and (not deletion_differs or name in actual)
    ]
    return (*wrong, DELETED) if deletion_differs else tuple(wrong)


def equal_values(one: Any, other: Any) -> bool:
    """Tell whether two values are the same; sums of floats may differ in their last digits."""
    match one, other:
        case (bool(), _) | (_, bool()):
            return one is other
        case (float(), float()):
            both_nan = math.isnan(one) and math.isnan(other)
            return both_nan or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
        case (Mapping(), Mapping()):
            return one.keys() == other.keys() and all(equal_values(one[key], other[key]) for key in one)
        case (list(), list()):
            return len(one) == len(other) and all(map(equal_values, one, other))
        case _:
            return bool(one == other)


def _match_rows(expected: Sequence[Row], actual: Sequence[Row]) -> dict[int, int]:
    """Return the actual row of each expected one, by index.

    A row that names few columns fits several actual rows.
    """
    fits = [
        [i for i, row in enumerate(actual) if not wrong_columns(expected_row, row)]
        for expected_row in expected
    ]
    return {index: candidate for candidate, index in largest_matching(fits).items()}


def _pair_rows(missing: list[ExpectedRow], extra: list[dict[str, Any]], keys: Sequence[str]) -> list[RowPair]:
    """Pair rows that are likely meant to be the same: with equal keys, or with most columns equal."""
    left = list(extra)
    pairs: list[RowPair] = []
    for row in missing:
        near = max(left, key=lambda candidate: _similarity(row.values, candidate, keys), default=None)
        if near is not None and _similarity(row.values, near, keys) > 0:
            left.remove(near)
            wrong = wrong_columns(row.values, near)
            pairs.append(RowPair(row.values, near, wrong, row.location, row.cells.get(wrong[0])))
        else:
            pairs.append(RowPair(row.values, None, (), row.location))
    return [*pairs, *(RowPair(None, row) for row in left)]


def _similarity(expected: Row, actual: Row, keys: Sequence[str]) -> float:
    named = [name for name in keys if name in expected]
    if named and all(equal_values(expected[name], actual.get(name)) for name in named):
        return 1000.0
    same = sum(equal_values(value, actual.get(name)) for name, value in expected.items())
    return 0.0 if named and same <= len(expected) / 2 else same
