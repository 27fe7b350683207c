"""Positions in an Iceberg table: the last snapshot that was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from millstream.project.values import Project, RowSource
from millstream.sources.iceberg.address import opened_table
from millstream.sources.iceberg.snapshots import ID, NUMBER, SNAPSHOT, newest
from millstream.sources.positions import SourceLog
from millstream.sources.tables import VersionPosition


class IcebergPosition(VersionPosition, frozen=True):
    """Its version is the sequence number of a snapshot, which counts the snapshots of a table."""

    word: ClassVar[str] = "snapshot"
    first: ClassVar[int] = 1

    snapshot: int

    def stored(self) -> list[Any]:
        return [self.table, self.version, self.snapshot]

    def offset(self) -> dict[str, Any]:
        """Return it as Spark's log has it."""
        return {ID: self.table, SNAPSHOT: self.snapshot, NUMBER: self.version}


def from_stored(value: Sequence[Any]) -> IcebergPosition:
    return IcebergPosition(*value)


def recognizes(value: Any) -> bool:
    return isinstance(value, dict) and ID in value


def from_log(value: dict[str, Any], _log: SourceLog) -> IcebergPosition:
    return IcebergPosition(value[ID], value[NUMBER], value[SNAPSHOT])


def ends(source: RowSource, project: Project) -> IcebergPosition:
    end = newest(opened_table(source, project))
    return IcebergPosition(end[ID], end[NUMBER], end[SNAPSHOT])
