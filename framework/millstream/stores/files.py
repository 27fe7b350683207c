"""Small files next to checkpoints and tables; Spark is needed only for those on other machines."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from millstream.core.atomic import replace_file
from millstream.core.decoding import from_json
from millstream.core.encoding import to_json
from millstream.core.own_folder import make_folder
from millstream.project.folders import local_path

T = TypeVar("T")


class Files(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def write(self, path: str, content: bytes) -> None: ...
    def remove(self, path: str) -> None:
        """Remove a file, or a folder with its contents."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; none if it does not exist."""
        ...

    def size(self, folder: str) -> int:
        """Return how many bytes the files of a folder have, with those of folders within."""
        ...

    def copy(self, folder: str, to: str) -> None:
        """Copy a folder with its contents, if it exists."""
        ...


class ReadableFiles(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def paths(self, folder: str) -> list[str]:
        """Return the paths of files in a folder and in those within; none if it does not exist."""
        ...


class TableFiles(Files, ReadableFiles, Protocol):
    """Files that are moved into a table."""

    def move(self, path: str, to: str) -> None:
        """Move a file, in place of another; nothing happens if it was moved before."""
        ...


def path_in(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def read_json(files: Files | ReadableFiles, path: str, type_: type[T]) -> T | None:
    content = files.read(path)
    return None if content is None else from_json(content, type_)


def write_json(files: Files, path: str, value: object) -> None:
    files.write(path, msgspec.json.format(to_json(value), indent=1))


class LocalFiles(Struct, frozen=True):
    def read(self, path: str) -> bytes | None:
        try:
            return _path(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, content: bytes) -> None:
        """Replace a file atomically: concurrent readers see the old or the new content."""
        target = _path(path)
        make_folder(target.parent)
        replace_file(target, content, sync=True)

    def remove(self, path: str) -> None:
        local = _path(path)
        if local.is_dir() and not local.is_symlink():
            shutil.rmtree(local)
        else:
            local.unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        path = _path(folder)
        return [file.name for file in path.iterdir()] if path.is_dir() else []

    def size(self, folder: str) -> int:
        total = 0
        for path in _path(folder).rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # Spark removes old versions meanwhile
                total += path.stat().st_size if path.is_file() else 0
        return total

    def copy(self, folder: str, to: str) -> None:
        if _path(folder).is_dir():
            shutil.copytree(_path(folder), _path(to))

    def move(self, path: str, to: str) -> None:
        target = _path(to)
        make_folder(target.parent)
        try:
            _path(path).replace(target)
        except FileNotFoundError:
            if not target.exists():
                raise

    def paths(self, folder: str) -> list[str]:
        path = _path(folder)
        return [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]


def _path(path: str) -> Path:
    file_path = local_path(path)
    assert file_path is not None
    return file_path
