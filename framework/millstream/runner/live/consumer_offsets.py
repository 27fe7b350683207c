"""Reports how far queries have read to Kafka as consumer group offsets, so that its tools show the lag.

Millstream never reads them: a query continues from its checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from msgspec import Struct

from millstream.kafka.clients import PATIENCE, Admin
from millstream.project.names import Environment, named

_log = logging.getLogger(__name__)


def group_of(project: str, query: str, environment: Environment | None = None) -> str:
    return named(environment, f"millstream.{project}.{query}")


class Commits(Struct, frozen=True):
    """Sets the offsets of groups; after a failure, the next batch sets them."""

    admin: Admin
    project: str
    environment: Environment | None = None

    def commit(self, query: str, read: Mapping[str, Mapping[int, int]]) -> None:
        offsets = [TopicPartition(topic, n, at) for topic, ends in read.items() for n, at in ends.items()]
        if not offsets:
            return
        group = group_of(self.project, query, self.environment)
        wanted = [ConsumerGroupTopicPartitions(group, offsets)]
        try:
            for future in self.admin.client.alter_consumer_group_offsets(wanted).values():
                future.result(PATIENCE)
        except (KafkaException, TimeoutError) as error:
            _log.warning("could not commit offsets of the consumer group %s: %s", group, error)
