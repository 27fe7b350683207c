"""Finds, reads and decodes the files of a project."""

from __future__ import annotations

import errno
import hashlib
import os
import posixpath
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import FileIO
from pathlib import Path

from msgspec import Struct

from millstream.core.errors import Diagnostic
from millstream.core.text import Location
from millstream.project.unsaved import is_unsaved, unsaved_below, unsaved_content

LARGEST = 10 * 1024 * 1024
_SKIPPED = frozenset(("__pycache__", "node_modules"))
_ADDED = (".txt", ".j2", ".jinja", ".jinja2")
"""What editors add to names, and how templates are named elsewhere."""
_SPECIAL = "it is a pipe, a socket or a device"
_SHOWN = 200
"""Characters shown of a line that is not valid text."""


class File(Struct, frozen=True):
    r"""A file's text; line ends are `\n` whatever the file has, so that offsets, lines and columns agree."""

    path: str
    content: str
    digest: str

    @property
    def stem(self) -> str:
        return posixpath.splitext(posixpath.basename(self.path))[0]


def find_files(
    root: Path,
    folders: tuple[str, ...],
    suffixes: tuple[str, ...],
    diagnostics: list[Diagnostic] | None = None,
) -> Iterator[str]:
    """Yield the files below the folders by path, relative to the root, sorted, with `/`, each once."""
    walk = _Walk(str(root), suffixes, [] if diagnostics is None else diagnostics)
    seen: set[str] = set()
    for folder in dict.fromkeys(posixpath.normpath(folder.replace(os.sep, "/")) for folder in folders):
        for path in _with_unsaved(walk.below(folder, frozenset(), folder), str(root), folder, suffixes):
            if path not in seen:
                seen.add(path)
                yield path


def _with_unsaved(paths: Iterator[str], root: str, folder: str, suffixes: tuple[str, ...]) -> Iterable[str]:
    """Return the paths of a folder with those that only an editor has."""
    unsaved = {path[len(root) + 1 :]: exists for path, exists in unsaved_below(f"{root}/{folder}", suffixes)}
    if not unsaved:
        return paths
    visible = {path for path in unsaved if not any(part.startswith(".") for part in path.split("/"))}
    gone = {path for path, exists in unsaved.items() if not exists}
    return sorted({*paths, *visible} - gone, key=lambda path: path.split("/"))


class _Walk(Struct):
    """Walks through folders; what can't be read is collected in `diagnostics`."""

    root: str
    suffixes: tuple[str, ...]
    diagnostics: list[Diagnostic]

    def below(self, folder: str, above: frozenset[str], top: str) -> Iterator[str]:
        full = f"{self.root}/{folder}"
        try:
            real = os.path.realpath(full)
            if real in above:
                return  # a link to a folder that contains it
            with os.scandir(full) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            self.report(folder, f"the folder can't be read: {_reason(error)}")
            return
        for entry in entries:
            name = entry.name
            if name.startswith(".") or name in _SKIPPED:
                continue
            path = f"{folder}/{name}"
            kind = _kind(entry)
            if kind != "folder" and not name.endswith(self.suffixes):
                if (meant := intended_name(name, self.suffixes)) and kind == "file":
                    self.report(
                        path, f"'{name}' is not read: its name ends differently", f"rename it to '{meant}'"
                    )
                continue
            if entry.is_symlink() and (where := forbidden_target(self.root, path, top)):
                self.report(path, f"the link points {where}", "copy what it points to into the project")
                continue
            if not name.isascii() and not _is_utf8(name):
                shown = os.fsencode(path).decode(errors="backslashreplace")
                self.report(shown, "the file's name is not UTF-8", "rename it")
            elif kind == "folder":
                if name.endswith(self.suffixes):
                    self.report(path, "this is a folder with the name of a file", "rename or remove it")
                yield from self.below(path, above | {real}, top)
            elif kind == "special":
                # Reading a named pipe would block forever.
                self.report(path, f"the file can't be read: {_SPECIAL}", "remove it")
            else:
                yield path

    def report(self, path: str, message: str, remedy: str = "check that it is readable") -> None:
        self.diagnostics.append(Diagnostic("MS102", message, Location(path, 1, 1, 2), remedy))


def intended_name(name: str, suffixes: tuple[str, ...]) -> str:
    """Return how a file would have to be named to be read, if it looks as if it should be."""
    base = name.lower()
    added = next((ending for ending in _ADDED if base.endswith(ending)), "")
    suffix = next((ending for ending in suffixes if base.removesuffix(added).endswith(ending)), "")
    stem = name[: len(name) - len(added) - len(suffix)]
    return f"{stem}{suffix}" if suffix and stem else ""


def forbidden_target(root: str, path: str, folder: str) -> str:
    """Return where a link below a folder leads if it must not be followed: messages would show the file.

    Otherwise, a pull request with such a link could show the environment in /proc, or a token in .git/config.
    """
    real = Path(os.path.realpath(f"{root}/{path}"))
    if not (real.is_file() or real.is_dir()):
        return ""  # reading it reports why it can't be read
    for boundary in (f"{root}/{folder}", root, _repository(root)):
        allowed = Path(os.path.realpath(boundary))
        if real.is_relative_to(allowed):
            parts = real.relative_to(allowed).parts
            # Kubernetes mounts files as links to folders such as ..2026_11_27.
            hidden = any(part.startswith(".") and not part.startswith("..") for part in parts)
            return "to a hidden file" if hidden else ""
    return "outside the repository"


def _repository(root: str) -> Path:
    """Return the folder of the repository that has the project, or else of the project."""
    folder = Path(root).absolute()
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_dir():
            return "folder"
        return "file" if entry.is_file() or entry.is_symlink() else "special"
    except OSError:
        return "file"  # a link to itself: reading it reports the error


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: OSError) -> str:
    return (error.strerror or "can't be opened").lower()


class SpecialFileError(OSError):
    """A path is a pipe, a socket or a device, perhaps behind a link."""


def open_regular(path: str | Path) -> FileIO:
    """Open a file if it is a regular one: a named pipe would block, and a device may have no end."""
    file = open(path, "rb", buffering=0, opener=_opened)  # noqa: SIM115 - returned
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise SpecialFileError(errno.EINVAL, _SPECIAL, str(path))
    return file


def read_data(path: str) -> bytes:
    """Return the content of a regular file, or one byte more than `LARGEST` of a larger one."""
    if (unsaved := unsaved_content(path)) is not None:
        return unsaved[: LARGEST + 1]
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = bytearray()
        # The size may be wrong: the file may grow, and some file systems don't know it.
        while len(content) <= LARGEST and (data := file.read(min(size, LARGEST) + 1)):
            content += data
        return bytes(content)


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


ReadFiles = dict[str, tuple[tuple[int, ...], "File | Diagnostic"]]
"""Files by absolute path, each with what changes when it does: time, size, and number on the disk."""
_READ: ContextVar[ReadFiles | None] = ContextVar("read", default=None)


@contextmanager
def remembered_files(files: ReadFiles) -> Iterator[None]:
    """Read files again only if they have changed: for a process that compiles the same project many times."""
    token = _READ.set(files)
    try:
        yield
    finally:
        _READ.reset(token)


def read_file(root: Path, path: str) -> File | Diagnostic:
    """Read a text file, or return why it can't be read."""
    files, full = _READ.get(), f"{root}/{path}"
    if files is None or is_unsaved(full):
        return _read_file(root, path)
    try:
        status = os.stat(full)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return _read_file(root, path)
    version = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)
    if (last := files.get(full)) is None or last[0] != version:
        last = files[full] = (version, _read_file(root, path))
    return last[1]


def _read_file(root: Path, path: str) -> File | Diagnostic:
    location = Location(path, 1, 1, 2)
    try:
        data = read_data(os.path.join(root, path))  # noqa: PTH118 - three times as fast as Path
    except SpecialFileError:
        return Diagnostic("MS102", f"the file can't be read: {_SPECIAL}", location, "remove it")
    except (OSError, ValueError) as error:
        reason = _reason(error) if isinstance(error, OSError) else str(error)
        message = f"the file can't be read: {reason}"
        return Diagnostic("MS102", message, location, "check that it exists and is readable")
    return as_file(path, data)


def as_file(path: str, data: bytes) -> File | Diagnostic:
    """Return a text file with this content, or why it can't be one."""
    location = Location(path, 1, 1, 2)
    if len(data) > LARGEST:
        remedy = "store data outside the project folder"
        return Diagnostic("MS119", "the file is larger than 10 MB", location, remedy)
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        byte = f"byte 0x{data[error.start]:02x} is not UTF-8"
        return _wrong_encoding(path, data, error.start, byte)
    if "\0" in content:
        return _wrong_encoding(path, data, data.index(0), "byte 0x00 is not text")
    if "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    return File(path, content, digest)


def _wrong_encoding(path: str, data: bytes, start: int, byte: str) -> Diagnostic:
    """Report the byte and its location, counted in characters as editors do."""
    data = data.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
    before = data[:start]
    line = before.count(b"\n") + 1
    column = len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1
    guess, name = _guess(data)
    shown = ""
    if name == "latin-1":
        first = before.rfind(b"\n") + 1
        stop = data.find(b"\n", start)
        shown = data[first : stop if stop >= 0 else len(data)][:_SHOWN].decode(errors="replace")
    location = Location(path, line, column, column + 1)
    return Diagnostic("MS103", f"{byte}: the file {guess}", location, "save the file as UTF-8", shown)


def _guess(data: bytes) -> tuple[str, str]:
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return "is UTF-16", "utf-16"
    zeros = data.count(0)
    # Western text in UTF-16 has a zero in every second byte.
    if zeros * 3 > len(data):
        return "looks like UTF-16", "utf-16"
    return ("is binary", "") if zeros else ("has another encoding, perhaps Latin-1", "latin-1")
