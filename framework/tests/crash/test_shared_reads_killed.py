"""Builds in which queries share the read of a topic are killed, or interrupted: nothing is lost, and no state counts twice."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from crash.test_ttl_killed import PROFILES
from support.commands import MILLSTREAM, PATIENCE, descendants, succeed
from support.long import FRESH
from support.runs import create_topics, queue_record

from millstream.runner.commands.read_together import ENOUGH

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

EVENTS = 2 * ENOUGH
TWICE = "{{ config(materialized='sink', key='id') }} select id, value * 2 as twice from {{ source('web', 'events') }}"
TOTALS = """
    {{ config(materialized='sink', key='kind', unbounded_state='accept') }}
    select kind, count(*) as events from {{ source('web', 'events') }} group by kind
"""


@pytest.fixture
def shop(durable_shop):
    shop = durable_shop
    shop.write("profiles.yml", PROFILES)
    shop.source(max_rows_per_trigger=30_000)
    shop.model("twice", TWICE)
    shop.model("totals", TOTALS)
    create_topics(shop.bootstrap, "events", partitions=2)
    return shop


def records(shop, topic):
    """Return how many records a topic has."""
    client = Consumer({"bootstrap.servers": shop.bootstrap, "group.id": "test"})
    try:
        metadata = client.list_topics(timeout=10).topics.get(topic)
        numbers = metadata.partitions if metadata is not None else ()
        return sum(client.get_watermark_offsets(TopicPartition(topic, n), timeout=10)[1] for n in numbers)
    finally:
        client.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_build_goes_on_where_another_one_ended(shop, number):
    producer = Producer({"bootstrap.servers": shop.bootstrap, "linger.ms": 20})
    for n in range(EVENTS):
        value = json.dumps({"id": n, "kind": "xyz"[n % 3], "value": float(n % 11)})
        queue_record(producer, "events", key=f"u{n % 100}", value=value)
    assert producer.flush(60) == 0
    dice, before = random.Random(str(FRESH)), 0
    for _ in range(2):
        build = subprocess.Popen(
            [*MILLSTREAM, "build", "--no-tests"], cwd=shop.root, stdout=subprocess.DEVNULL
        )
        before += dice.randrange(1, EVENTS // 4)
        while records(shop, "twice") <= before and build.poll() is None:
            time.sleep(0.1)
        if number == signal.SIGKILL:
            for pid in [build.pid, *descendants(build.pid)]:
                os.kill(pid, number)
        else:
            build.send_signal(number)
        assert build.wait(PATIENCE) != 0
        before = records(shop, "twice")
    succeed(shop.root, "build")
    rows = Counter((row["id"], row["twice"]) for row in shop.values("twice"))
    assert sorted(rows) == [(n, n % 11 * 2.0) for n in range(EVENTS)]
    counts = {row["kind"]: row["events"] for row in shop.values("totals")}
    assert counts == Counter("xyz"[n % 3] for n in range(EVENTS))
