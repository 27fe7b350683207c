"""The state of the broker that commands share, in `state.json`."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from millstream.broker.place import BrokerFolder
from millstream.decoding import from_json
from millstream.machine.archive import Archive


class State(Struct, frozen=True):
    port: int
    cluster: str
    """Kafka's id of the cluster; a broker with another id at this port is a different Kafka."""
    kept: bool = False
    tries: int = 1
    archive: Archive | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"


def read_state(folder: BrokerFolder) -> State | None:
    try:
        return from_json(folder.state.read_bytes(), State)
    except (OSError, msgspec.DecodeError):
        return None


def write_state(folder: BrokerFolder, state: State) -> None:
    temporary = folder.state.with_suffix(".new")
    temporary.write_bytes(msgspec.json.encode(state))
    temporary.replace(folder.state)


def read_pid(folder: BrokerFolder) -> int | None:
    try:
        return int(folder.pid.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
