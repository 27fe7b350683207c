"""The files of a project: found, read, decoded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from millstream.errors import Diagnostic
from millstream.text import Location

LARGEST = 10 * 1024 * 1024
_SKIPPED = frozenset(("__pycache__", "node_modules", "target"))


class File(Struct, frozen=True):
    """A file's text; line ends are `\\n` whatever the file has, so that offsets, lines and columns agree."""

    path: str
    content: str
    digest: str

    @property
    def stem(self) -> str:
        return self.path.rpartition("/")[2].partition(".")[0]


def find_files(root: Path, folders: tuple[str, ...], suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the files below the folders by path, relative to the root, sorted, with `/`."""
    for folder in folders:
        yield from _walk(root, folder, suffixes, frozenset())


def _walk(root: Path, folder: str, suffixes: tuple[str, ...], above: frozenset[str]) -> Iterator[str]:
    try:
        real = os.path.realpath(root / folder)
        if real in above:
            return
        entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _SKIPPED:
            continue
        path = f"{folder}/{entry.name}"
        if entry.is_dir():
            yield from _walk(root, path, suffixes, above | {real})
        elif entry.name.endswith(suffixes):
            yield path


def read_file(root: Path, path: str) -> File | Diagnostic:
    """Read a text file, or say why it can't be."""
    place = Location(path, 1, 1, 2)
    try:
        with (root / path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        reason = (error.strerror or "can't be opened").lower()
        return Diagnostic("MS102", f"the file can't be read: {reason}", place, "check that it exists and may be read")
    if len(data) > LARGEST:
        return Diagnostic("MS119", "the file is larger than 10 MB", place, "keep data out of the project folder")
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        return _wrong_encoding(path, data, error)
    if "\0" in content:
        return Diagnostic("MS103", "the file holds NUL characters: it is no text", place, "save it as UTF-8 text")
    return File(path, content.replace("\r\n", "\n").replace("\r", "\n"), digest)


def _wrong_encoding(path: str, data: bytes, error: UnicodeDecodeError) -> Diagnostic:
    before = data[: error.start]
    line = before.count(b"\n") + 1
    column = len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1
    guess = "UTF-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "another encoding, perhaps Latin-1"
    return Diagnostic(
        "MS103",
        f"byte 0x{data[error.start]:02x} is not UTF-8: the file has {guess}",
        Location(path, line, column, column + 1),
        "save the file as UTF-8",
    )
