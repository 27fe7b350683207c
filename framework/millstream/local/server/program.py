"""What a server is, besides its process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from millstream.local.archive import Archive
from millstream.local.jars import Progress
from millstream.local.java import JavaInstallation
from millstream.local.server.folder import ServerFolder
from millstream.local.server.state import ServerState

Installed = tuple[JavaInstallation, tuple[Path, ...]]
"""The Java of a server, and its jars."""
Ports = tuple[int, int]
"""Two free ports: the one that clients use, and one for the server itself."""


class Launch(Struct, frozen=True):
    script: str
    """Shell commands; the last one replaces the shell by the server's process."""
    identity: str
    archive: Archive | None = None
    jvm: tuple[str, ...] = ()
    """The command of a JVM that can write the archive."""


class ServerProgram(Struct, frozen=True):
    """A server that the commands of a project share."""

    name: str
    title: str
    folder_in: Callable[[Path], Path]
    """Returns the server's folder in a project."""
    install: Callable[[Progress | None], Installed]
    launch: Callable[[ServerFolder, Installed, Ports], Launch]
    """Writes the settings of a new process."""
    answers: Callable[[ServerState], bool]
    started: str
    """What is in the log once all classes that a start needs are loaded."""
    ended_code: str
    silent_code: str

    def folder(self, root: Path) -> ServerFolder:
        return ServerFolder(self.folder_in(root), self.name)
