"""Positions in a Delta table: the version that is read next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.project.values import Project, RowSource
from millstream.sources.delta.log import newest_version
from millstream.sources.positions import SourceLog
from millstream.sources.tables import VersionPosition


class DeltaPosition(VersionPosition, frozen=True):
    """All rows of the versions before `version` are read."""


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
