"""A Kafka broker on this machine, shared by the commands of a project."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from millstream.local.broker.kafka import KAFKA
from millstream.local.jars import Progress
from millstream.local.server.folder import ServerFolder
from millstream.local.server.shared import (
    RunningServer,
    ServerStatus,
    StartingServer,
    Stopped,
    keep_running,
    revive_server,
    server_status,
    share_server,
    stop_shared,
)


def broker_folder_of(root: Path) -> ServerFolder:
    return KAFKA.folder(root)


def shared_broker(root: Path, progress: Progress | None = None) -> AbstractContextManager[StartingServer]:
    return share_server(KAFKA, root, progress)


def keep_broker(root: Path, progress: Progress | None = None) -> RunningServer:
    return keep_running(KAFKA, root, progress)


def revive_broker(root: Path) -> bool:
    return revive_server(KAFKA, root)


def stop_broker(root: Path, *, force: bool = False) -> Stopped:
    return stop_shared(KAFKA, root, force=force)


def broker_status(root: Path) -> ServerStatus:
    return server_status(KAFKA, root)
