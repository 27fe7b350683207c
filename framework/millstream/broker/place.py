"""Where a project's broker lives: `.millstream/broker`."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from millstream.project.folders import broker_folder


class BrokerFolder(Struct, frozen=True):
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "logs" / "broker.log"

    @property
    def server_properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def state(self) -> Path:
        return self.folder / "state.json"

    @property
    def pid(self) -> Path:
        """Return the file that the process's own shell writes its id into."""
        return self.folder / "broker.pid"

    @property
    def start_lock(self) -> Path:
        """Return the file that is locked by who starts, joins, leaves or stops the broker."""
        return self.folder / "start.lock"

    @property
    def users_lock(self) -> Path:
        """Return the file that every user holds a shared lock on."""
        return self.folder / "users.lock"

    @property
    def broker_lock(self) -> Path:
        """Return the file that the broker's process holds a lock on as long as it lives."""
        return self.folder / "broker.lock"


def place_of(root: Path) -> BrokerFolder:
    return BrokerFolder(broker_folder(root))
