"""The folder of a server: its data, log, state and locks."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class ServerFolder(Struct, frozen=True):
    path: Path
    name: str
    """The server's name, such as `broker`."""

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def log(self) -> Path:
        return self.path / "logs" / f"{self.name}.log"

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def pid(self) -> Path:
        """The file with the process id, written by its shell."""
        return self.path / f"{self.name}.pid"

    @property
    def start_lock(self) -> Path:
        """The file that is locked while a command starts, joins, leaves or stops the server."""
        return self.path / "start.lock"

    @property
    def users_lock(self) -> Path:
        """The file with a shared lock of each command that uses the server."""
        return self.path / "users.lock"

    @property
    def process_lock(self) -> Path:
        """The file that the server's process locks as long as it lives."""
        return self.path / f"{self.name}.lock"
