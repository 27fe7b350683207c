"""Offsets of consumer groups that queries report, while their broker is killed and started again."""

import os
import signal
import threading
import time

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from support.runs import create_topics
from support.secured_kafka import PASSWORD, cluster_of, secured_port  # noqa: F401 - a fixture
from support.spark import SPARK_WARNINGS

from millstream.deploy.live.consumer_offsets import OffsetCommitter
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.topics import TopicConfig, create_missing
from millstream.local.broker import broker_folder_of, keep_broker, revive_broker, stop_broker
from millstream.local.server.state import read_pid

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

QUERIES = 4


def test_a_broker_that_dies_ends_no_process_and_later_offsets_arrive(tmp_path, first_spark):
    """With librdkafka's admin client, one such death in two aborts the process."""
    broker = keep_broker(tmp_path)
    try:
        create_topics(broker.address, "events")
        commits = OffsetCommitter(first_spark, Cluster(broker.address), "shop", None)
        stopping, counts = threading.Event(), [0] * QUERIES

        def report(query):
            while not stopping.is_set():
                commits.commit(f"q{query}", {"events": {0: counts[query], 1: 7}})
                counts[query] += 1

        threads = [threading.Thread(target=report, args=(query,)) for query in range(QUERIES)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            before = list(counts)
            while not all(now > then + 5 for now, then in zip(counts, before, strict=True)):
                time.sleep(0.05)
            os.kill(read_pid(broker_folder_of(tmp_path)), signal.SIGKILL)
            while not revive_broker(tmp_path):  # it has not ended yet
                time.sleep(0.05)
        before = list(counts)
        while not all(now > then + 2 for now, then in zip(counts, before, strict=True)):
            pass
        stopping.set()
        for thread in threads:
            thread.join()
        admin = AdminClient({"bootstrap.servers": broker.address})
        for query, count in enumerate(counts):
            assert offsets(admin, f"q{query}") == {0: count - 1, 1: 7}
    finally:
        stop_broker(tmp_path, force=True)


def test_a_cluster_with_logins(secured_port, first_spark, caplog):  # noqa: F811
    admin = admin_of(cluster_of(secured_port))
    create_missing(admin, [TopicConfig("events", 1, 1)])
    commits = OffsetCommitter(first_spark, cluster_of(secured_port), "shop", None)
    commits.commit("totals", {"events": {0: 5}})
    assert offsets(admin.client, "totals") == {0: 5}
    assert caplog.messages == []
    # Someone who may not do that is told in the log, without the password.
    OffsetCommitter(first_spark, cluster_of(secured_port, "ann", PASSWORD), "shop", None).commit(
        "totals", {"events": {0: 6}}
    )
    (message,) = caplog.messages
    assert "millstream.shop.totals" in message
    assert "AuthorizationException" in message
    assert offsets(admin.client, "totals") == {0: 5}


def offsets(admin, query):
    request = ConsumerGroupTopicPartitions(f"millstream.shop.{query}")
    (future,) = admin.list_consumer_group_offsets([request]).values()
    return {position.partition: position.offset for position in future.result(10).topic_partitions}
