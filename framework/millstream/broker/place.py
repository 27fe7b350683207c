"""The folder of a project's broker: `.millstream/broker`."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from millstream.project.folders import broker_folder


class BrokerFolder(Struct, frozen=True):
    path: Path

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def log(self) -> Path:
        return self.path / "logs" / "broker.log"

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def pid(self) -> Path:
        """The file with the process id, written by its shell."""
        return self.path / "broker.pid"

    @property
    def start_lock(self) -> Path:
        """The file that is locked while a command starts, joins, leaves or stops the broker."""
        return self.path / "start.lock"

    @property
    def users_lock(self) -> Path:
        """The file with a shared lock of each command that uses the broker."""
        return self.path / "users.lock"

    @property
    def broker_lock(self) -> Path:
        """The file that the broker's process locks as long as it lives."""
        return self.path / "broker.lock"


def broker_folder_of(root: Path) -> BrokerFolder:
    return BrokerFolder(broker_folder(root))
