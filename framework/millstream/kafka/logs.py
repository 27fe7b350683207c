"""Where the topics of a project begin and end; a local broker that does not run is not started for it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from millstream.kafka.cluster import cluster_of, is_embedded
from millstream.local.broker import broker_status
from millstream.local.broker.log_bounds import BrokerLogs, LogBounds, stopped_logs
from millstream.project.values import Project


def logs_of(project: Project, topics: Collection[str]) -> BrokerLogs | None:
    """Return the logs of some topics; None if one does not exist, or that can't be known now."""
    logs = existing_logs(project, topics)
    return logs if logs is not None and logs.topics.keys() >= set(topics) else None


def existing_logs(project: Project, topics: Collection[str]) -> BrokerLogs | None:
    """Return the logs of those topics that exist, perhaps with others; None if that can't be known now."""
    root, address = Path(project.root), None
    if is_embedded(project.target):
        status = broker_status(root)
        if status.state == "stopped":
            return stopped_logs(root)
        if status.address is None:
            return None
        address = status.address
    return _current_logs(project, address, topics)


def _current_logs(project: Project, address: str | None, topics: Collection[str]) -> BrokerLogs:
    # These import Kafka's client, which the files of a stopped broker do not need.
    from millstream.kafka.clients import admin_of
    from millstream.kafka.offsets import topic_bounds
    from millstream.kafka.topics import topic_ids

    admin = admin_of(cluster_of(project.target, address, project.root))
    logs = BrokerLogs(ids=topic_ids(admin, topics))
    for (topic, number), bound in topic_bounds(admin, topics).items():
        logs.topics.setdefault(topic, {})[number] = LogBounds(bound.first, bound.end)
    return logs
