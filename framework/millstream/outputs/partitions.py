"""The entries of `partition_by`: columns, or what is computed of one, such as `day(at)`."""

from __future__ import annotations

import re

from msgspec import Struct

_CALL = re.compile(r"\s*(\w+)\s*\(\s*(?:(\d+)\s*,\s*)?(\w+|`[^`]+`)\s*\)\s*")
TIMES = ("year", "month", "day", "hour")
NUMBERED = ("bucket", "truncate")
"""Transforms with a number: of buckets, or of characters or the width of ranges."""
_SAME = {f"{name}s": name for name in TIMES}
"""The names in Spark's own SQL."""


class Partition(Struct, frozen=True):
    column: str
    transform: str = ""
    """What Iceberg calls it; empty for the values of the column."""
    number: int = 0

    def __str__(self) -> str:
        if not self.transform:
            return self.column
        return f"{self.transform}({f'{self.number}, ' if self.number else ''}{self.column})"

    @property
    def folded(self) -> Partition:
        """The same for each spelling of the column."""
        return Partition(self.column.lower(), self.transform, self.number)


def parse_partition(text: str) -> Partition:
    """Return an entry of `partition_by`; the transform may be unknown, or lack its number."""
    if (call := _CALL.fullmatch(text)) is None:
        return Partition(text)
    name, number, column = call[1].lower(), call[2], call[3].strip("`")
    return Partition(column, _SAME.get(name, name), int(number or 0))
