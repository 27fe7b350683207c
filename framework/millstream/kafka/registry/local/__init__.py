"""A schema registry on this machine, which runs and stops like the local broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.kafka.registry.local.apicurio import API, APICURIO, OLDEST
from millstream.kafka.registry.local.filling import fill_registry
from millstream.kafka.registry.settings import RegistryAddress
from millstream.local.jars import Progress
from millstream.local.java import newest_java
from millstream.local.server.shared import (
    RunningServer,
    ServerStatus,
    Stopped,
    keep_running,
    revive_server,
    server_status,
    share_server,
    stop_shared,
)
from millstream.project.pins import Pins


def runs_here() -> bool:
    """Return whether this machine has a Java that is new enough."""
    return newest_java(OLDEST) is not None


@contextmanager
def shared_registry(root: Path, pins: Pins, progress: Progress | None = None) -> Iterator[RunningServer]:
    """Start the project's registry, or join the running one; stop it if no other command uses it."""
    with share_server(APICURIO, root, progress) as starting:
        server = starting.ready()
        fill_registry(server, pins)
        yield server


def keep_registry(root: Path, pins: Pins, progress: Progress | None = None) -> None:
    """Start or join the registry, and keep it running until it is stopped."""
    with shared_registry(root, pins, progress):
        keep_running(APICURIO, root)


def revive_registry(root: Path) -> bool:
    """Restart the registry if it died while a command uses it; return whether it had died."""
    return revive_server(APICURIO, root)


def stop_registry(root: Path, *, force: bool = False) -> Stopped:
    return stop_shared(APICURIO, root, force=force)


def registry_status(root: Path) -> ServerStatus:
    return server_status(APICURIO, root)


def has_data(root: Path) -> bool:
    """Return whether the registry was ever started."""
    return APICURIO.folder(root).path.is_dir()


def registry_url(address: str) -> str:
    """Return what clients of Confluent's API need, from a host and port."""
    return f"http://{address}{API}"


def local_address(server: RunningServer) -> RegistryAddress:
    return RegistryAddress(registry_url(server.address))
