"""Records that Spark has read from Kafka are not kept for long after a batch."""

import time

import pytest
from support.runs import built, statuses
from support.shops import TOTALS, event

PATIENCE = 60
"""Seconds; Spark itself keeps them for five minutes."""


@pytest.mark.long
def test_fetched_records_are_let_go_of_soon_after_a_batch(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(*map(event, range(100)))
    results, _ = built(shop.root, first_spark)
    assert statuses(results)["totals"] == "success"
    records = fetched(first_spark)
    assert records.numCreated() > 0
    limit = time.monotonic() + PATIENCE
    while records.numTotal():
        assert time.monotonic() < limit, records.numTotal()
        time.sleep(0.2)


def fetched(spark):
    """Return Spark's pool of the records that it has read from Kafka."""
    pools = spark._jvm.java.lang.Class.forName("org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer$")
    pool = pools.getDeclaredField("fetchedDataPool")
    pool.setAccessible(True)
    return pool.get(None)
