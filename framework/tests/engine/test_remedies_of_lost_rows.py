"""What helps if topics no longer have the records of a range that is computed again."""

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from support.runs import built, table_rows
from support.spark import SPARK_WARNINGS
from support.time_ranges import day, replaced, sent_on

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

RAW = "{{ config(materialized='table') }} select id, at from {{ source('web', 'events') }}"


def test_a_range_that_would_lose_rows_is_only_replaced_if_that_is_accepted(shop, first_spark):
    shop.model("raw", RAW)
    shop.send(sent_on(1, 1), sent_on(2, 2), sent_on(2, 3))
    built(shop.root, first_spark)
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    admin.delete_records([TopicPartition("events", 0, 2)])[TopicPartition("events", 0)].result(10)
    ids = [1, 2, 3]
    (refused,) = replaced(shop, first_spark, day(2), day(3))
    assert refused.code == "MS642"
    assert "1 instead of 2 rows, and events no longer has its first records" in refused.message
    assert sorted(row["id"] for row in table_rows(shop.root, "model.raw")) == ids
    shop.send(sent_on(2, 4))
    assert replaced(shop, first_spark, day(2), day(3))[0].code == "MS642"
    assert sorted(row["id"] for row in table_rows(shop.root, "model.raw")) == [*ids, 4]
    # What the remedy says: another range, or what is accepted.
    assert replaced(shop, first_spark, day(3), day(4)) == [(0, 0)]
    assert "--accept-fewer-rows" in refused.help
    assert replaced(shop, first_spark, day(2), day(3), fewer_rows=True) == [(2, 3)]
    assert sorted(row["id"] for row in table_rows(shop.root, "model.raw")) == [1, 3, 4]
