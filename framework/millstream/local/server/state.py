"""The state of a server that commands share, in `state.json`."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from millstream.core.decoding import from_json
from millstream.core.encoding import to_json
from millstream.local.archive import Archive
from millstream.local.server.folder import ServerFolder


class ServerState(Struct, frozen=True):
    port: int
    identity: str
    """What the server says of itself; one with another identity at this port is a different server."""
    keeps_running: bool = field(default=False, name="kept")
    tries: int = 1
    archive: Archive | None = None
    jvm: tuple[str, ...] = ()
    """The command of a JVM that can write the archive."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


def read_state(folder: ServerFolder) -> ServerState | None:
    try:
        return from_json(folder.state.read_bytes(), ServerState)
    except (OSError, msgspec.DecodeError):
        return None


def write_state(folder: ServerFolder, state: ServerState) -> None:
    temporary = folder.state.with_suffix(".new")
    temporary.write_bytes(to_json(state))
    temporary.replace(folder.state)


def read_pid(folder: ServerFolder) -> int | None:
    try:
        return int(folder.pid.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
