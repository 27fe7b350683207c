"""The names of the files in a folder, on this machine or in S3."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from millstream.project.s3 import S3, arrow_s3


def files_in(folder: str, pattern: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses of the files that Spark lists; of this machine, their paths.

    `pattern` has the names of folders or files below the folder; with none, all files are read.
    """
    in_s3 = folder.startswith(S3)
    for name in _names_in_s3(folder, settings) if in_s3 else _names_on_disk(Path(folder)):
        if _is_read(name.split("/"), pattern.split("/") if pattern else []):
            yield f"{folder}/{name}" if name else folder


def _names_on_disk(folder: Path) -> Iterator[str]:
    if folder.is_file():
        yield ""
    # Path.rglob leaves out folders that it may not read.
    for within, _, names in os.walk(folder, onerror=_raise_unless_gone):
        for path in (Path(within, name) for name in names):
            if path.is_file():
                yield path.relative_to(folder).as_posix()


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _names_in_s3(folder: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield names of objects."""
    from pyarrow.fs import FileSelector, FileType

    client = arrow_s3(settings)
    bucket_path = folder.removeprefix(S3)
    if client.get_file_info(bucket_path).type == FileType.File:
        yield ""
    for info in client.get_file_info(FileSelector(bucket_path, recursive=True, allow_not_found=True)):
        if info.type == FileType.File:
            yield info.path.removeprefix(f"{bucket_path}/")


def _is_read(parts: list[str], pattern: list[str]) -> bool:
    """Whether names match, of which Spark leaves out some (HadoopFSUtils)."""
    matches = all(fnmatchcase(part, one) for part, one in zip(parts, pattern, strict=False))
    return matches and len(parts) >= len(pattern) and not any(map(_is_hidden, parts))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.endswith("._COPYING_") or (name.startswith("_") and "=" not in name)
