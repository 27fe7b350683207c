"""Sinks with `guarantee: exactly_once`: a batch that is repeated sends nothing twice."""

import json
from collections import Counter

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from support.runs import built, create_topics, headers, statuses
from support.shops import event
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS
PLAIN = """
    {{{{ config(materialized='sink', key='user', guarantee='{guarantee}') }}}}
    select id, user, value from {{{{ source('web', 'events') }}}} where value >= 0
"""
TOTALS = """
    {{ config(materialized='sink', key='user', guarantee='exactly_once') }}
    select user, count(*) as events from {{ source('web', 'events') }} group by user having count(*) < 3
"""


def committed(bootstrap, topic):
    """Return the committed records of a topic, by a client that shares nothing with Millstream."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "judge", "enable.auto.commit": False,
        "enable.partition.eof": True, "isolation.level": "read_committed",
    })  # fmt: skip
    found, left = [], set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in left])
    while left:
        (message,) = consumer.consume(1, timeout=20)
        if message.error() is None:
            found.append(message)
        else:
            left.discard(message.partition())
    consumer.close()
    return found


def checkpoints_of(shop):
    return [each for each in (shop.root / ".millstream/local/checkpoints").iterdir() if each.is_dir()]


def forget_commits(shop):
    """Let Spark repeat the last batch of each query, as after a crash at the end of a batch."""
    for folder in checkpoints_of(shop):
        commits = folder / "spark/commits"
        last = max(int(each.name) for each in commits.iterdir() if each.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize(("guarantee", "times"), [("exactly_once", 1), ("at_least_once", 2)])
def test_a_repeated_batch_sends_nothing_twice(shop, spark, guarantee, times):
    shop.model("plain", PLAIN.format(guarantee=guarantee))
    shop.send(event(1), event(2), event(3, value=-1.0))
    results, _ = built(shop.root, spark)
    assert statuses(results) == {"plain": "success"}
    forget_commits(shop)
    shop.send(event(4))
    results, _ = built(shop.root, spark)
    assert statuses(results) == {"plain": "success"}
    ids = Counter(json.loads(each.value())["id"] for each in committed(shop.bootstrap, "plain"))
    assert ids == {1: times, 2: times, 4: 1}
