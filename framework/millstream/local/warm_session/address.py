"""Where a project's warm session is reached. Every command imports this module: it needs little."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

_FOLDER = "millstream"
_OFF = "MILLSTREAM_NO_SESSION"


class SessionAddress:
    """The files of a session: its socket, and the lock that its process holds."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.socket = folder / f"{name}.socket"
        self.lock = folder / f"{name}.lock"

    def make_folder(self) -> None:
        """Create the folder; raise an `OSError` if others could enter it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self.folder.lstat()
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            message = f"{self.folder} belongs to another user, or others can enter it"
            raise PermissionError(message)


def session_address(root: Path) -> SessionAddress:
    """Return the address of the session of a project, of this user and this installation of Millstream."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        folder = Path(runtime, _FOLDER)
    else:
        folder = Path(tempfile.gettempdir(), f"{_FOLDER}-{os.getuid()}")
    digest = hashlib.blake2b(os.fsencode(f"{root}\n{sys.prefix}\n{__file__}"), digest_size=12)
    return SessionAddress(folder, digest.hexdigest())


def is_switched_off() -> bool:
    """Return whether no command may use a session: in CI, without a home, where users don't want one."""
    if sys.platform == "win32" or is_set(_OFF) or is_set("CI"):
        return True
    return not os.access(Path("~").expanduser(), os.W_OK)


def is_set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() not in {"", "0", "false", "no", "off"}


def nearest_project(arguments: list[str]) -> Path | None:
    """Return the project of a command line, as far as that is seen without reading it."""
    for option, value in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, text = option.partition("=")
        if name == "--project-dir":
            return Path(text if equals else value).resolve()
    try:
        start = Path.cwd()
    except FileNotFoundError:
        return None
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and "millstream" in file.read_text(encoding="utf-8", errors="replace"):
            return folder
    return None
