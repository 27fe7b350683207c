"""Positions in a folder: the files that were read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from millstream.project.folders import absolute_path, local_path
from millstream.project.values import Project, RowSource
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
    """Return the path of a file's address."""
    return unquote(urlsplit(address).path)


def folder_of(source: RowSource, project: Project) -> tuple[Path, str]:
    """Return the folder of a source, and the pattern of names below it; empty if that is all files."""
    path = local_path(absolute_path(source.settings["path"], Path(project.root)))
    assert path is not None, "only folders of this machine are accepted"
    parts = path.parts
    first = next((n for n, part in enumerate(parts) if set(part) & set("*?")), len(parts))
    return Path(*parts[:first]), "/".join(parts[first:])


def ends(source: RowSource, project: Project) -> FilesPosition:
    """Return the files that Spark would list now."""
    folder, pattern = folder_of(source, project)
    paths = folder.glob(pattern) if pattern else (folder,)
    files = (file for path in paths for file in ((path,) if path.is_file() else path.rglob("*")))
    return FilesPosition(
        frozenset(str(file) for file in files if file.is_file() and not _is_hidden(file, folder))
    )


def _is_hidden(file: Path, folder: Path) -> bool:
    """Whether Spark leaves a file out by its name, or by that of its folder (HadoopFSUtils)."""
    return any(
        part.startswith(".") or part.endswith("._COPYING_") or (part.startswith("_") and "=" not in part)
        for part in file.relative_to(folder).parts
    )
