"""The result of a data test."""

from __future__ import annotations

from msgspec import Struct

from millstream.testing.styled_text import Line


class NotBuilt(Struct, frozen=True):
    """A relation that has not been built yet, so it can't be tested."""

    name: str


class DataTestResult(Struct, frozen=True):
    failures: int = 0
    """Rows that fail the test; 1 if the test is about an aggregate."""
    rows: int = 0
    """All rows that a test of single rows has checked."""
    message: str = ""
    lines: tuple[Line, ...] = ()
