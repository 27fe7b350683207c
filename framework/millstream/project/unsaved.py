"""Contents of files that an editor has and the disk does not: a compile reads them in place of the files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_UNSAVED: ContextVar[Mapping[str, bytes]] = ContextVar("unsaved", default={})  # noqa: B039 - never changed


@contextmanager
def unsaved_files(contents: Mapping[str, bytes]) -> Iterator[None]:
    """Read these contents in place of files, by absolute path, also of files that do not exist yet."""
    token = _UNSAVED.set(contents)
    try:
        yield
    finally:
        _UNSAVED.reset(token)


def unsaved_content(path: str | Path) -> bytes | None:
    """Return the content that an editor has of a file; None if the file on disk is to be read."""
    contents = _UNSAVED.get()
    return contents.get(os.path.abspath(path)) if contents else None  # noqa: PTH100 - `resolve` reads links


def is_file(path: Path) -> bool:
    """Return whether a file exists, on disk or in an editor."""
    return unsaved_content(path) is not None or path.is_file()


def read_bytes(path: Path) -> bytes:
    """Return the content of a file as the editor or the disk has it."""
    content = unsaved_content(path)
    return path.read_bytes() if content is None else content


def unsaved_below(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the absolute paths below a folder of which an editor has contents, with one of these suffixes."""
    contents = _UNSAVED.get()
    if contents:
        prefix = os.path.join(os.path.abspath(folder), "")  # noqa: PTH100, PTH118 - as above
        yield from (path for path in contents if path.startswith(prefix) and path.endswith(suffixes))


def read_text(path: Path) -> str:
    r"""Return the text of a file as the editor or the disk has it, with `\n` at the ends of lines."""
    return read_bytes(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
