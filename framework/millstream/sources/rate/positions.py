"""Positions of a rate: Spark counts the seconds since a query was started for the first time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from millstream.project.values import Project, RowSource
from millstream.sources.positions import Position, SourceLog


class RatePosition(Position, frozen=True):
    began: int
    """When the query was started for the first time, in milliseconds since 1970."""
    seconds: int
    """Of how many seconds it has the rows."""

    @property
    def until(self) -> int:
        """The time up to which it has the rows, by which positions of several queries are compared."""
        return self.began + self.seconds * 1000

    def covers(self, other: RatePosition, /) -> bool:
        return self.until >= other.until

    def earlier(self, other: RatePosition, /) -> RatePosition:
        return min(self, other, key=lambda position: position.until)

    def later(self, other: RatePosition, /) -> RatePosition:
        return max(self, other, key=lambda position: position.until)

    def since(self, start: RatePosition | None, /) -> int:
        return self.seconds if start is None else (self.until - start.until) // 1000

    def texts(self, stream: str, start: RatePosition | None, /) -> Iterator[str]:
        if (first := self.began if start is None else start.until) < self.until:
            yield f"{stream}, rows from {_time(first)} to {_time(self.until)}"

    def parts(self) -> tuple[str, ...]:
        return (str(self.until),)

    def stored(self) -> list[int]:
        return [self.began, self.seconds]


def _time(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def from_stored(value: Sequence[int]) -> RatePosition:
    return RatePosition(*value)


def recognizes(value: Any) -> bool:
    """Whether a value of the log can be of a rate: a number of seconds (RateStreamMicroBatchStream)."""
    return isinstance(value, int)


def from_log(value: int, log: SourceLog) -> RatePosition:
    """Return the position; Spark notes in the log when the query was started for the first time."""
    began = (log.files.read(f"{log.folder}/0") or b"").decode().splitlines()[1]
    return RatePosition(int(began), value)


def ends(_source: RowSource, _project: Project) -> RatePosition:
    return RatePosition(int(time.time() * 1000), 0)
