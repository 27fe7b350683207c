"""How far queries have read, told to Kafka as offsets of consumer groups: so its own tools show the lag.

Nothing reads them back: where a query goes on is what its checkpoint says.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from millstream.kafka.clients import PATIENCE, Admin

_log = logging.getLogger(__name__)


def group_of(project: str, query: str) -> str:
    """Return the name of a query's consumer group."""
    return f"millstream.{project}.{query}"


class Commits:
    """Sets the offsets of groups; those that can't be set now are set with the next batch."""

    def __init__(self, admin: Admin, project: str) -> None:
        self._admin = admin
        self._project = project

    def commit(self, query: str, read: Mapping[str, Mapping[int, int]]) -> None:
        places = [TopicPartition(topic, n, at) for topic, ends in read.items() for n, at in ends.items()]
        if not places:
            return
        group = group_of(self._project, query)
        try:
            asked = self._admin.client.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group, places)]
            )
            for future in asked.values():
                future.result(PATIENCE)
        except (KafkaException, TimeoutError) as error:
            _log.warning("offsets of the group %s are not committed: %s", group, error)
