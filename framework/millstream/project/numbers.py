"""Integers that SQL and the cache can store: those of 64 bits."""

from __future__ import annotations

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
QUOTE = "put it in quotes"


def fits_bigint(number: int) -> bool:
    return _SMALLEST <= number <= _LARGEST
