"""Positions in a Delta table: the version that is read next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from millstream.project.values import Project, RowSource
from millstream.sources.delta.log import newest_version
from millstream.sources.positions import Position, SourceLog


class DeltaPosition(Position, frozen=True):
    table: str
    """The table's id: one that is recreated in the same folder has another one."""
    version: int
    """All rows of the versions before are read."""

    def covers(self, other: DeltaPosition, /) -> bool:
        return self.table == other.table and self.version >= other.version

    def earlier(self, other: DeltaPosition, /) -> DeltaPosition:
        return min(self, other, key=lambda position: position.version)

    def later(self, other: DeltaPosition, /) -> DeltaPosition:
        return max(self, other, key=lambda position: position.version)

    def since(self, start: DeltaPosition | None, /) -> int:
        return self.version - self._first_after(start)

    def texts(self, stream: str, start: DeltaPosition | None, /) -> Iterator[str]:
        first, last = self._first_after(start), self.version - 1
        if first <= last:
            yield f"{stream}, version {last}" if first == last else f"{stream}, versions {first} to {last}"

    def parts(self) -> tuple[str, ...]:
        return self.table, str(self.version)

    def stored(self) -> list[Any]:
        return [self.table, self.version]

    def _first_after(self, start: DeltaPosition | None) -> int:
        return 0 if start is None or start.table != self.table else start.version


def from_stored(value: Sequence[Any]) -> DeltaPosition:
    return DeltaPosition(*value)


def recognizes(value: Any) -> bool:
    """Whether a value of the log is of a Delta table (DeltaSourceOffset)."""
    return isinstance(value, dict) and "reservoirId" in value


def from_log(value: dict[str, Any], _log: SourceLog) -> DeltaPosition:
    """Return the position; a batch ends before a version, or with the last file of one."""
    return DeltaPosition(value["reservoirId"], value["reservoirVersion"] + (value["index"] >= 0))


def ends(source: RowSource, project: Project) -> DeltaPosition:
    table, version = newest_version(source, project)
    return DeltaPosition(table, version + 1)
