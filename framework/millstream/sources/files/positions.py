"""Positions in a folder: the files that were read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.project.folders import absolute_path, local_path
from millstream.project.values import Project, RowSource
from millstream.sources.files.listing import files_in
from millstream.sources.positions import Position, SourceLog


class FilesPosition(Position, frozen=True):
    files: frozenset[str]
    """Their paths."""

    def covers(self, other: FilesPosition, /) -> bool:
        return self.files >= other.files

    def earlier(self, other: FilesPosition, /) -> FilesPosition:
        return FilesPosition(self.files & other.files)

    def later(self, other: FilesPosition, /) -> FilesPosition:
        return FilesPosition(self.files | other.files)

    def since(self, start: FilesPosition | None, /) -> int:
        return len(self._since(start))

    def texts(self, stream: str, start: FilesPosition | None, /) -> Iterator[str]:
        return (f"{stream}, file {Path(file).name}" for file in sorted(self._since(start)))

    def parts(self) -> tuple[str, ...]:
        return tuple(sorted(self.files))

    def stored(self) -> list[str]:
        return sorted(self.files)

    def _since(self, start: FilesPosition | None) -> frozenset[str]:
        return self.files if start is None else self.files - start.files


def from_stored(value: Sequence[str]) -> FilesPosition:
    return FilesPosition(frozenset(value))


def recognizes(value: Any) -> bool:
    """Whether a value of the log is of a folder: the number of a file in the source's own log."""
    return isinstance(value, dict) and value.keys() == {"logOffset"}


def from_log(value: dict[str, int], log: SourceLog) -> FilesPosition:
    return FilesPosition(frozenset(times_in_log(value, log)))


def times_in_log(value: dict[str, int], log: SourceLog) -> dict[str, int]:
    """Return the files in the source's log up to a batch, each with the milliseconds when it was written.

    The log (Spark's FileStreamSourceLog) has a file for each batch, and sometimes one such as `9.compact`,
    which also has all before it.
    """
    by_batch: dict[int, str] = {}
    for name in log.files.names(log.folder):
        number, dot, suffix = name.partition(".")
        if number.isdigit() and int(number) <= value["logOffset"] and (not dot or suffix == "compact"):
            by_batch[int(number)] = max(name, by_batch.get(int(number), ""))
    compacted = max((number for number, name in by_batch.items() if name.endswith(".compact")), default=0)
    entries = (
        json.loads(line)
        for number, name in by_batch.items()
        if number >= compacted
        for line in (log.files.read(f"{log.folder}/{name}") or b"").decode().splitlines()[1:]
    )
    return {path_of(entry["path"]): entry["timestamp"] for entry in entries}


def path_of(address: str) -> str:
    """Return the path of a file on this machine, or the address of another one, as positions have it."""
    parts = urlsplit(address)
    return unquote(parts.path if parts.scheme in {"", "file"} else address)


def folder_of(source: RowSource, project: Project) -> tuple[str, str]:
    """Return the folder of a source, and the pattern of names below it; empty if that is all files."""
    address = absolute_path(source.settings["path"], Path(project.root))
    local = local_path(address)
    parts = (address.rstrip("/") if local is None else local.as_posix()).split("/")
    first = next((n for n, part in enumerate(parts) if set(part) & set("*?")), len(parts))
    return "/".join(parts[:first]), "/".join(parts[first:])


def ends(source: RowSource, project: Project) -> FilesPosition:
    """Return the files that Spark would list now."""
    try:
        files = frozenset(files_in(*folder_of(source, project), project.target.settings))
    except OSError as error:
        message = f"the files of source '{source.id}' can't be listed: {error}"
        remedy = "let Millstream list the folder; for S3, check the credentials and the region"
        raise MillstreamError(Diagnostic("MS699", message, source.location, remedy)) from None
    return FilesPosition(files)
