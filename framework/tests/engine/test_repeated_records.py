"""`deduplicate: position` of a source: a record that its sender sent again is read once."""

import pytest
from confluent_kafka import Producer
from support.runs import built, statuses
from support.spark import SPARK_WARNINGS

from millstream.runner.samples.states import StateReader
from millstream.stores.files import LocalFiles

pytestmark = SPARK_WARNINGS

PLAIN = "{{ config(materialized='sink') }} select id, at from {{ source('web', 'events') }}"
WINDOWS = """
    {{ config(materialized='sink', emit='on_close') }}
    select window(at, '1 minute').start as minute, count(*) as events
    from {{ source('web', 'events') }} group by window(at, '1 minute')
"""
TOTALS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, count(*) as events, sum(id) as ids from {{ source('web', 'events') }} group by kind
"""


def sent(shop, *records):
    """Send records to any of two partitions: an id, its sender, and its position."""
    producer = Producer({"bootstrap.servers": shop.bootstrap, "linger.ms": 5})
    for number, (id_, batch, position) in enumerate(records):
        headers = [("millstream.position", position), ("millstream.batch", batch)]
        value = f'{{"id": {id_}, "kind": "x", "at": "2026-01-01T00:{id_ % 60:02}:00Z"}}'
        sent_headers = [header for header in headers if header[1] is not None]
        producer.produce("events", value, partition=number % shop.partitions, headers=sent_headers)
    assert producer.flush(30) == 0


@pytest.mark.long
def test_each_record_is_read_once(shop, first_spark):
    shop.partitions = 1
    shop.source(deduplicate="position", max_rows_per_trigger=6)
    for name, sql in {"plain": PLAIN, "windows": WINDOWS}.items():
        shop.model(name, sql)
    shop.model("totals", TOTALS.replace("table', unique_key", "sink', key"))
    one, other = "q/a/0", "q/a/1"
    sent(
        shop,
        (0, one, "in-0-0"), (1, one, "in-1-0"), (0, one, "in-0-0"), (2, one, "in-0-9000"),
        (2, one, "in-0-9000"), (3, other, "in-0-9001"), (1, other, "in-1-0"),
        (4, "q/b/0", "in-0-0"),  # after a rebuild
        (5, None, "in-0-0"), (5, None, "in-0-0"),  # of a version without this header
        (6, one, None), (6, one, None),  # not from a single record
        (7, "q/b/1", "not a position"),
    )  # fmt: skip
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == dict.fromkeys(("plain", "windows", "totals"), "success")
    sent(
        shop,
        (3, other, "in-0-9001"),
        (2, other, "in-0-9000"),
        (8, "q/a/2", "in-0-9002"),
        (9, "q/b/2", "in-0-1"), (60, "q/a/3", "in-0-9003"),  # the latter is too late for its window
    )  # fmt: skip
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == dict.fromkeys(("plain", "windows", "totals"), "success")
    ids = [0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 60]
    assert sorted(row["id"] for row in shop.values("plain")) == ids
    assert shop.values("totals")[-1] == {"kind": "x", "events": len(ids), "ids": sum(ids)}
    closed = {row["minute"][14:16]: row["events"] for row in shop.values("windows")}
    assert closed == {f"{n:02}": ids.count(n) for n in range(8)}
    assert remembered(shop, first_spark) == {" in-0": 1, "q/a in-0": 2, "q/a in-1": 1, "q/b in-0": 1}


def remembered(shop, spark):
    """Return how many pages of positions the state has by sender and partition."""
    folder = str(shop.root / ".millstream/local/checkpoints")
    reader = StateReader(spark, LocalFiles(), folder)
    ((size, answer),) = reader.rows("plain", (), None)
    assert size.operator == "first_sent"
    return dict(answer.rows)
