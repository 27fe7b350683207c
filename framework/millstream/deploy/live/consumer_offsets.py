"""Reports how far queries have read to Kafka as consumer group offsets, so that its tools show the lag.

Millstream never reads them: a query continues from its checkpoint. Kafka's own client sets them: librdkafka
aborts the process if the coordinator of a group goes away while one of its admin requests waits for it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from millstream.engine.spark.jvm import own_class
from millstream.kafka.cluster import Cluster, reveal_options
from millstream.kafka.groups import group_of
from millstream.kafka.settings import java_admin_config
from millstream.project.names import Environment

_log = logging.getLogger(__name__)
_PATIENCE = 10
"""Seconds; if Kafka does not answer, the next batch tries again."""


class OffsetCommitter:
    """Sets the offsets of groups; after a failure, the next batch sets them."""

    def __init__(
        self, spark: SparkSession, cluster: Cluster, project: str, environment: Environment | None
    ) -> None:
        self._project, self._environment = project, environment
        self._groups = own_class(spark, "kafka.GroupOffsets")(reveal_options(java_admin_config(cluster)))

    def commit(self, query: str, read: Mapping[str, Mapping[int, int]]) -> None:
        lines = [f"{n} {offset} {topic}" for topic, ends in read.items() for n, offset in ends.items()]
        if not lines:
            return
        group = group_of(self._project, query, self._environment)
        try:
            reason = self._groups.set(group, "\n".join(lines), _PATIENCE * 1000)
        except (Py4JError, OSError) as error:  # the JVM has ended
            reason = error
        if reason:
            _log.warning("could not commit offsets of the consumer group %s: %s", group, reason)
