"""What a data test found."""

from __future__ import annotations

from msgspec import Struct

from millstream.testing.styled_text import Line


class NotBuilt(Struct, frozen=True):
    """A relation that nothing has built yet, so there is nothing to test."""

    name: str


class DataTestResult(Struct, frozen=True):
    failures: int = 0
    """Rows that are wrong; 1 where an aggregate is wrong."""
    rows: int = 0
    """All rows that a test of single rows looked at."""
    message: str = ""
    lines: tuple[Line, ...] = ()
