"""Reads topics as any consumer of committed records does, by a client that shares nothing with Millstream."""

from confluent_kafka import Consumer, TopicPartition


def committed(bootstrap, topic):
    """Return the committed records of a topic, in the order of each partition."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "judge", "enable.auto.commit": False,
        "enable.partition.eof": True, "isolation.level": "read_committed",
    })  # fmt: skip
    try:
        left = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        found = []
        while left:
            (message,) = consumer.consume(1, timeout=20)
            if message.error() is None:
                found.append(message)
                continue
            assert message.error().name() == "_PARTITION_EOF", message.error()
            left.discard(message.partition())
        return found
    finally:
        consumer.close()
