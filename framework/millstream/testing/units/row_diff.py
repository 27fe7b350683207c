"""Rows that are expected against rows that came, in no order; only what a test names is compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from millstream.testing.units.values import DELETED, ExpectedRow
from millstream.text import Location

Row = Mapping[str, Any]


class RowPair(Struct, frozen=True):
    """A row that was expected and the one that is nearest to it, or one of them alone."""

    expected: dict[str, Any] | None
    actual: dict[str, Any] | None
    wrong: tuple[str, ...] = ()
    """Columns in which they differ."""
    location: Location | None = None
    """Of the expected row."""
    cell: Location | None = None
    """Of its first value that differs."""


class RowDiff(Struct, frozen=True):
    columns: tuple[str, ...]
    """Those that are compared."""
    pairs: tuple[RowPair, ...]
    same: int
    """Rows that are as expected."""


def diff_rows(
    expected: Sequence[ExpectedRow], actual: Sequence[Row], keys: Sequence[str] = ()
) -> RowDiff | None:
    """Return how rows differ, None where they do not; rows with equal `keys` are paired."""
    matched = _matched([row.values for row in expected], actual)
    if len(matched) == len(expected) == len(actual):
        return None
    missing = [row for index, row in enumerate(expected) if index not in matched]
    taken = set(matched.values())
    extra = [dict(row) for index, row in enumerate(actual) if index not in taken]
    named = dict.fromkeys(name for row in expected for name in row.values)
    shown = named or dict.fromkeys(name for row in actual for name in row)
    pairs = _paired(missing, extra, keys)
    if any(DELETED in (pair.actual or {}) for pair in pairs):
        shown[DELETED] = None
    return RowDiff(tuple(shown), tuple(pairs), len(matched))


def wrong_columns(expected: Row, actual: Row) -> tuple[str, ...]:
    """Return the columns that are named and differ; a deleted row is none that stays."""
    gone = DELETED if bool(expected.get(DELETED)) != bool(actual.get(DELETED)) else None
    wrong = [
        name
        for name, value in expected.items()
        if name != DELETED and not equal_values(value, actual.get(name)) and (gone is None or name in actual)
    ]
    return (*wrong, DELETED) if gone else tuple(wrong)


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


def _matched(expected: Sequence[Row], actual: Sequence[Row]) -> dict[int, int]:
    """Return which actual row each expected one is; as many as can be, since a row may name few columns."""
    fits = [[i for i, row in enumerate(actual) if not wrong_columns(wanted, row)] for wanted in expected]
    owner: dict[int, int] = {}

    def place(wanted: int, tried: set[int]) -> bool:
        for found in fits[wanted]:
            if found not in tried:
                tried.add(found)
                if found not in owner or place(owner[found], tried):
                    owner[found] = wanted
                    return True
        return False

    for wanted in range(len(expected)):
        place(wanted, set())
    return {wanted: found for found, wanted in owner.items()}


def _paired(missing: list[ExpectedRow], extra: list[dict[str, Any]], keys: Sequence[str]) -> list[RowPair]:
    """Put rows together that are likely meant to be one: of equal keys, or with most columns alike."""
    left = list(extra)
    found: list[RowPair] = []
    for row in missing:
        near = max(left, key=lambda each: _alike(row.values, each, keys), default=None)
        if near is not None and _alike(row.values, near, keys) > 0:
            left.remove(near)
            wrong = wrong_columns(row.values, near)
            found.append(RowPair(row.values, near, wrong, row.location, row.cells.get(wrong[0])))
        else:
            found.append(RowPair(row.values, None, (), row.location))
    return [*found, *(RowPair(None, row) for row in left)]


def _alike(expected: Row, actual: Row, keys: Sequence[str]) -> float:
    named = [name for name in keys if name in expected]
    if named and all(equal_values(expected[name], actual.get(name)) for name in named):
        return 1000.0
    same = sum(equal_values(value, actual.get(name)) for name, value in expected.items())
    return 0.0 if named and same <= len(expected) / 2 else same
