"""Connects a project to its cluster; the embedded broker runs as long as the connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.kafka.clients import Admin, admin_of
from millstream.kafka.cluster import cluster_of, is_embedded
from millstream.local.broker import shared_broker
from millstream.local.jars import Progress
from millstream.project.values import Project


@contextmanager
def connect_kafka(project: Project, progress: Progress | None = None) -> Iterator[Admin]:
    """Connect to the Kafka cluster of the project's target; `progress` reports fetched jars."""
    if not is_embedded(project.target):
        yield admin_of(cluster_of(project.target, root=project.root))
        return
    with shared_broker(Path(project.root), progress) as starting:
        servers = starting.ready().address
        yield admin_of(cluster_of(project.target, servers, project.root))
