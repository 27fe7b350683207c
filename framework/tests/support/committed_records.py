"""Reads topics as any consumer of committed records does, by a client that shares nothing with Millstream."""

from confluent_kafka import Consumer, TopicPartition


def committed(bootstrap, topic):
    """Return the committed records of a topic, in the order of each partition."""
    return list(each_committed(bootstrap, topic))


def each_committed(bootstrap, topic):
    """Yield the committed records of a topic, in the order of each partition."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "judge", "enable.auto.commit": False,
        "enable.partition.eof": True, "isolation.level": "read_committed",
    })  # fmt: skip
    try:
        left = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        while left:
            messages = consumer.consume(10_000, timeout=1)
            for message in messages:
                if message.error() is None:
                    yield message
                    continue
                assert message.error().name() == "_PARTITION_EOF", message.error()
                left.discard(message.partition())
    finally:
        consumer.close()
