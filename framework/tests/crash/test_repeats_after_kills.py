"""A sink that is killed in the middle of its batches sends records again: readers that drop repeats have each once.

`MILLSTREAM_REPEATS=20 uv run pytest -m long framework/tests/crash/test_repeats_after_kills.py` kills it more often.
"""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from support.commands import MILLSTREAM, Run
from support.runs import create_topics, headers, received, table_rows
from support.shops import Shop

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_REPEATS", "2"))
PER_BATCH = 20_000
"""Records of a batch: it must last long enough to be killed within it."""
PARTITIONS = 3
PROFILES = 'shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, trigger: 500 milliseconds}}}\n'
READER = """
shop:
  target: local
  outputs:
    local: {{master: "local[2]", kafka: {{bootstrap_servers: "{}"}}, spark: {{spark.sql.shuffle.partitions: 2}}}}
"""
SOURCE = """
sources:
  - name: shop
    topics:
      - {{name: plain, deduplicate: position, columns: [{{name: id, type: int}}]}}
      - {{name: raw, topic: plain, columns: [{{name: id, type: int}}]}}
"""
COUNTS = """
    {{{{ config(materialized='table', unique_key='part') }}}}
    select id % 10 as part, count(*) as rows, sum(id) as ids from {{{{ source('shop', '{}') }}}} group by id % 10
"""


@pytest.fixture
def shop(durable_shop):
    shop = durable_shop
    shop.write("profiles.yml", PROFILES)
    shop.model(
        "plain",
        "{{ config(materialized='sink', partitions=3) }} select id from {{ source('web', 'events') }} where id % 3 > 0",
    )
    create_topics(shop.bootstrap, "events")
    create_topics(shop.bootstrap, "plain", partitions=PARTITIONS)
    return shop


@pytest.fixture
def reader(shop, tmp_path):
    """Another project, which reads the sink's topic."""
    reader = Shop(tmp_path / "reader", shop.bootstrap)
    reader.write("profiles.yml", READER.format(shop.bootstrap))
    reader.write("models/sources.yml", SOURCE.format())
    for name in ("plain", "raw"):
        reader.model(f"of_{name}", COUNTS.format(name))
    return reader


def test_readers_have_each_record_once(shop, reader):
    for number in range(KILLS):
        kill_within_a_batch(shop, number)
        command(reader, "build")
    command(shop, "build")
    command(reader, "build")

    sent = [number for number in range(KILLS * PER_BATCH) if number % 3]
    records = received(shop.bootstrap, "plain")
    times = Counter(json.loads(record.value())["id"] for record in records)
    assert set(times) == set(sent)
    repeated = sum(times.values()) - len(times)
    assert repeated > 0, "no batch was killed before its end"
    # The headers alone tell which records are repeated.
    batch_positions = {
        (headers(e)["millstream.batch"].rpartition("/")[0], headers(e)["millstream.position"])
        for e in records
    }
    assert len(batch_positions) == len(sent)
    sys.stdout.write(f"{len(sent):,} records; {repeated:,} were sent again after {KILLS} kills\n")

    read = table_rows(reader.root, "model.of_plain")
    assert {r["part"]: (r["rows"], r["ids"]) for r in read} == counted(sent)
    read = table_rows(reader.root, "model.of_raw")
    assert {r["part"]: (r["rows"], r["ids"]) for r in read} == counted(times.elements())
    shown = command(shop, "consume", "plain", "--from-beginning", "--deduplicate", "--output", "json")
    assert sorted(json.loads(line)["value"]["id"] for line in shown.splitlines()) == sent


def counted(ids):
    groups = {}
    for number in ids:
        rows, total = groups.get(number % 10, (0, 0))
        groups[number % 10] = rows + 1, total + number
    return groups


def kill_within_a_batch(shop, number):
    """Kill a run as soon as the topic has some records of a large batch; at first, a run repeats the last one."""
    consumer = Consumer({"bootstrap.servers": shop.bootstrap, "group.id": "sizes"})
    consumer.list_topics("plain", timeout=20)
    before = size(consumer, "plain")
    produce(shop, range(number * PER_BATCH, (number + 1) * PER_BATCH))
    run = Run(shop.root)
    try:
        run.until("started")
        while size(consumer, "plain") <= before:
            pass
    finally:
        run.kill(with_children=True)
        consumer.close()


def produce(shop, ids):
    producer = Producer({"bootstrap.servers": shop.bootstrap, "linger.ms": 50})
    for number in ids:
        producer.produce("events", key=str(number), value=json.dumps({"id": number}))
        producer.poll(0)
    assert producer.flush(60) == 0


def size(consumer, topic):
    """Return how many records a topic has."""
    partitions = (TopicPartition(topic, number) for number in range(PARTITIONS))
    return sum(consumer.get_watermark_offsets(partition, timeout=20)[1] for partition in partitions)


def command(shop, *arguments):
    done = subprocess.run(
        [*MILLSTREAM, *arguments], cwd=shop.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
