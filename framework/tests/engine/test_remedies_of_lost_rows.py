"""What helps if topics no longer have the records of a range that is computed again."""

import json
from datetime import datetime

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from support.runs import built, queue_record, table_rows
from support.spark import SPARK_WARNINGS
from support.time_ranges import day, replaced, sent_on

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

RAW = "{{ config(materialized='table') }} select id, value, at from {{ source('web', 'events') }}"


def delete_records(shop, before):
    """Remove the first records, as the retention of the topic does."""
    partition = TopicPartition("events", 0, before)
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    admin.delete_records([partition])[TopicPartition("events", 0)].result(10)


def send_in_time(shop, *records):
    """Send records whose times are those of their events."""
    producer = Producer({"bootstrap.servers": shop.bootstrap})
    for key, value in records:
        time = datetime.fromisoformat(value["at"])
        queue_record(
            producer, "events", key=key, value=json.dumps(value), timestamp=int(time.timestamp() * 1000)
        )
    assert producer.flush(30) == 0


def values(shop):
    return {row["id"]: row["value"] for row in table_rows(shop.root, "model.raw")}


def test_a_range_that_would_lose_rows_is_only_replaced_if_that_is_accepted(shop, first_spark):
    shop.model("raw", RAW + " where id < 3")
    shop.send(sent_on(1, 1), sent_on(2, 2), sent_on(2, 3))
    built(shop.root, first_spark)
    delete_records(shop, 2)
    shop.model("raw", RAW)  # as many rows as before are no sign that none is lost
    (refused,) = replaced(shop, first_spark, day(2), day(3))
    assert refused.code == "MS642"
    assert "1 of the 1 rows in the range of 'raw' are not computed again" in refused.message
    assert values(shop) == {1: 1.0, 2: 2.0}
    # What the remedy says: another range, or what is accepted.
    assert replaced(shop, first_spark, day(3), day(4)) == [(0, 0)]
    assert "--accept-fewer-rows" in refused.help
    assert replaced(shop, first_spark, day(2), day(3), fewer_rows=True) == [(1, 1)]
    assert values(shop) == {1: 1.0, 3: 3.0}


def test_a_topic_that_has_the_records_since_a_range_began_loses_nothing(shop, first_spark):
    shop.model("raw", RAW)
    send_in_time(shop, sent_on(1, 1), sent_on(2, 2), sent_on(2, 3), sent_on(3, 4))
    built(shop.root, first_spark)
    delete_records(shop, 1)
    shop.model("raw", RAW.replace("value,", "value * 2 as value,"))
    # The first record that is left was written on the second day, and what is gone before that.
    assert replaced(shop, first_spark, day(3), day(4)) == [(1, 1)]
    assert replaced(shop, first_spark, day(2), day(3))[0].code == "MS642"
    assert values(shop) == {1: 1.0, 2: 2.0, 3: 3.0, 4: 8.0}


FILES = """
sources:
  - name: lake
    files:
      - name: orders
        path: data
        format: json
        columns: [{name: id, type: int}, {name: value, type: double}, {name: at, type: timestamp}]
        watermark: {column: at, delay: 1 minute}
"""


def test_a_range_of_files_that_were_deleted_is_only_replaced_if_that_is_accepted(shop, first_spark):
    shop.write("models/lake.yml", FILES)
    shop.model("raw", RAW.replace("'web', 'events'", "'lake', 'orders'"))
    for number, (_, record) in enumerate([sent_on(1, 1), sent_on(2, 2), sent_on(3, 3)]):
        shop.write(f"data/{number}.json", f"{json.dumps(record)}\n")
    built(shop.root, first_spark)
    assert replaced(shop, first_spark, day(1), day(2)) == [(1, 1)]
    (shop.root / "data/1.json").unlink()
    (refused,) = replaced(shop, first_spark, day(2), day(3))
    assert refused.code == "MS642"
    assert "1 of the 1 rows in the range of 'raw' are not computed again, and lake.orders" in refused.message
    assert values(shop) == {1: 1.0, 2: 2.0, 3: 3.0}
    assert replaced(shop, first_spark, day(3), day(4)) == [(1, 1)]
    assert replaced(shop, first_spark, day(2), day(3), fewer_rows=True) == [(0, 1)]
    assert values(shop) == {1: 1.0, 3: 3.0}
