"""Where topics begin and end, read from the broker's files, compared with what the broker itself says."""

import os
import signal
from random import Random

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from support.runs import create_topics

from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.offsets import topic_bounds
from millstream.kafka.topics import topic_ids
from millstream.local.broker import broker_folder_of, keep_broker, stop_broker
from millstream.local.broker.log_bounds import stopped_logs
from millstream.local.server.process import is_alive
from millstream.local.server.state import read_pid

TOPICS = ("events", "a-b.c_1", "few", "rolled", "transacted", "empty")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The folder of a broker that has stopped, and the logs of its topics."""
    root = tmp_path_factory.mktemp("ends")
    broker = keep_broker(root)
    try:
        create_topics(broker.address, *(topic for topic in TOPICS if topic != "rolled"), partitions=3)
        admin = AdminClient({"bootstrap.servers": broker.address})
        # A limit that is set later may reach the broker after the records.
        (creation,) = admin.create_topics(
            [NewTopic("rolled", 3, 1, config={"segment.bytes": str(1 << 20)})]
        ).values()
        creation.result(10)
        dice = Random(7)
        producer = Producer(
            {"bootstrap.servers": broker.address, "compression.type": "lz4", "linger.ms": 1, "log_level": 0}
        )
        for number in range(3000):
            for topic in ("events", "a-b.c_1", *(("few",) if number < 5 else ())):
                producer.produce(topic, key=str(dice.random()), value=b"x" * dice.randrange(300))
            # Three segments each, so that two are left if the broker has removed the one with deleted records only.
            producer.produce("rolled", value=os.urandom(3000), partition=number % 3)
            producer.poll(0)
        assert producer.flush(30) == 0
        committed = Producer({"bootstrap.servers": broker.address, "transactional.id": "one", "log_level": 0})
        committed.init_transactions()
        for end in (committed.commit_transaction, committed.abort_transaction, committed.commit_transaction):
            committed.begin_transaction()
            for number in range(10):
                committed.produce("transacted", value=b"x", partition=number % 2)
            end()
        _delete(admin, "events", 100)
        _delete(admin, "rolled", 700)
        client = admin_of(Cluster(broker.address))
        limits, ids = topic_bounds(client, TOPICS), topic_ids(client, TOPICS)
        os.kill(read_pid(broker_folder_of(root)), signal.SIGTERM)
        while is_alive(broker_folder_of(root)):
            pass
        yield root, limits, ids
    finally:
        stop_broker(root, force=True)


def _delete(admin, topic, before):
    """Delete the first records of each partition."""
    partitions = [TopicPartition(topic, number, before) for number in range(3)]
    for future in admin.delete_records(partitions).values():
        future.result(10)


def test_logs_and_ids_are_those_that_the_broker_told(stopped):
    root, limits, ids = stopped
    logs = stopped_logs(root)
    assert logs.ids == ids
    assert {(topic, n): log for topic, logs in logs.topics.items() for n, log in logs.items()} == limits
    assert {log.first for log in logs.topics["events"].values()} == {100}
    assert {log.first for log in logs.topics["rolled"].values()} == {700}
    assert len(list(broker_folder_of(root).data.glob("rolled-0/*.log"))) > 1
    assert logs.topics["empty"] == {0: (0, 0), 1: (0, 0), 2: (0, 0)}


def test_what_was_cut_off_is_unknown(stopped):
    root, _, _ = stopped
    (segment,) = broker_folder_of(root).data.glob("events-0/*.log")
    content = segment.read_bytes()
    try:
        for length in (len(content) - 1, len(content) // 2 + 1, 10):
            segment.write_bytes(content[:length])
            assert stopped_logs(root) is None
    finally:
        segment.write_bytes(content)
