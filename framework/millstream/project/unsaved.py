"""Contents of files that an editor has and the disk does not: a compile reads them in place of the files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

Unsaved = Mapping[str, "bytes | None"]
"""Contents by absolute path; None for a file that is there and does not count."""
_UNSAVED: ContextVar[Unsaved] = ContextVar("unsaved", default={})  # noqa: B039 - never changed


@contextmanager
def unsaved_files(contents: Unsaved) -> Iterator[None]:
    """Read these contents in place of files, also of files that do not exist yet."""
    token = _UNSAVED.set(contents)
    try:
        yield
    finally:
        _UNSAVED.reset(token)


def unsaved_content(path: str | Path) -> bytes | None:
    """Return the content that an editor has of a file; None if the file on disk is to be read."""
    contents = _UNSAVED.get()
    key = os.path.abspath(path) if contents else ""  # noqa: PTH100 - `resolve` reads links
    if key not in contents:
        return None
    if (content := contents[key]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return content


def is_unsaved(path: str | Path) -> bool:
    """Return whether an editor decides what a file is, also if it is gone there."""
    contents = _UNSAVED.get()
    return bool(contents) and os.path.abspath(path) in contents  # noqa: PTH100 - as above


def is_file(path: Path) -> bool:
    """Return whether a file exists, on disk or in an editor."""
    try:
        return unsaved_content(path) is not None or path.is_file()
    except FileNotFoundError:
        return False


def read_bytes(path: Path) -> bytes:
    """Return the content of a file as the editor or the disk has it."""
    content = unsaved_content(path)
    return path.read_bytes() if content is None else content


def unsaved_below(folder: str, suffixes: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Yield the absolute paths of an editor's files below a folder, and whether they exist there."""
    contents = _UNSAVED.get()
    if contents:
        prefix = os.path.join(os.path.abspath(folder), "")  # noqa: PTH100, PTH118 - as above
        for path, content in contents.items():
            if path.startswith(prefix) and path.endswith(suffixes):
                yield path, content is not None


def read_text(path: Path) -> str:
    r"""Return the text of a file as the editor or the disk has it, with `\n` at the ends of lines."""
    return read_bytes(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
