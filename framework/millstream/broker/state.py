"""What the commands tell each other about the broker, in `state.json`."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from millstream.broker.place import BrokerFolder
from millstream.machine.archive import Archive


class State(Struct, frozen=True):
    port: int
    cluster: str
    """Kafka's id of the cluster: who answers at the port with another id is somebody else's Kafka."""
    kept: bool = False
    tries: int = 1
    archive: Archive | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"


def read_state(place: BrokerFolder) -> State | None:
    try:
        return msgspec.json.decode(place.state.read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return None


def write_state(place: BrokerFolder, state: State) -> None:
    temporary = place.state.with_suffix(".new")
    temporary.write_bytes(msgspec.json.encode(state))
    temporary.replace(place.state)


def read_pid(place: BrokerFolder) -> int | None:
    try:
        return int(place.pid.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
