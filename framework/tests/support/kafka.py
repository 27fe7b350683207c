"""A few records in and out of a Kafka, and processes that use a project's broker."""

import subprocess
import sys
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

_USER = """
import sys
from pathlib import Path
from millstream.local.broker import shared_broker
with shared_broker(Path(sys.argv[1])) as starting:
    print(starting.ready().pid, flush=True)
    sys.stdin.readline()
"""


def create(broker, topic):
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(10)


def produce(broker, topic, *values):
    producer = Producer({"bootstrap.servers": broker.address})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(10) == 0


def consume(broker, topic, count):
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "test", "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return [message.value().decode() for message in consumer.consume(count, timeout=10)]
    finally:
        consumer.close()


@contextmanager
def user(root):
    """Yield another process that uses the broker until a line is written to it."""
    with subprocess.Popen(
        [sys.executable, "-c", _USER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def pid_told_by(process):
    return int(process.stdout.readline())
