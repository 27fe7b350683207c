"""From a project to its cluster, whose broker runs as long as the block lasts if it is our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.broker import shared_broker
from millstream.kafka.clients import Admin, admin_of
from millstream.kafka.cluster import cluster_of, is_embedded
from millstream.machine.jars import Progress
from millstream.project.values import Project


@contextmanager
def connected(project: Project, progress: Progress | None = None) -> Iterator[Admin]:
    """Connect to the Kafka of the project's target; `progress` is told of jars that are fetched for it."""
    if not is_embedded(project.target):
        yield admin_of(cluster_of(project.target, root=project.root))
        return
    with shared_broker(Path(project.root), progress) as starting:
        servers = starting.ready().bootstrap_servers
        yield admin_of(cluster_of(project.target, servers, project.root))
