"""Streams that join versions as of their event time, built on Kafka, Spark and Delta, build by build."""

import json
from random import Random

import pytest
from support.runs import built, create_topics, errors, job_of, received, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS
from support.temporal import JOINED, START, TOPICS, Traffic

from millstream.core.node_id import NodeId
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.queries.topology import with_ancestors
from millstream.runner.samples.compute import SampleRequest, compute_rows
from millstream.runner.samples.states import StateReader
from millstream.stores.files import LocalFiles

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

EXPENSIVE = """
    {{ config(materialized='table', unique_key='id') }}
    select o.id, p.price, b.price as again from {{ source('web', 'orders') }} as o
    join {{ source('web', 'prices') }} for system_time as of o.at as p on p.item = o.item and p.price > 50
    left join {{ source('web', 'prices') }} for system_time as of o.at as b on b.item = o.item and b.price < 70
"""
PER_PRICE = """
    {{ config(materialized='sink', key='price', unbounded_state='accept') }}
    select coalesce(price, -1) as price, count(*) as orders from {{ ref('joined') }} where id >= 0 group by 1
"""
NEWEST = """
    {{ config(materialized='sink', key='id') }}
    select o.id, p.price from {{ source('web', 'orders') }} as o
    join {{ source('web', 'prices') }} as p on p.item = o.item and p.valid_to is null
"""


@pytest.fixture
def shop(tmp_path, broker):
    return Shop(tmp_path, broker)


def computed(shop, spark, model, last):
    """Return what `show --compute` would, over at most some records of each partition."""
    job = job_of(shop.root)
    catalog = with_ancestors(job.catalog, frozenset((NodeId("model", model),)))
    question = SampleRequest(job.project, catalog, NodeId("model", model), None, last, "spark.log")
    result = compute_rows(question, admin_of(Cluster(shop.bootstrap, embedded=True)), spark)
    return {row[0]: row[result.columns.index("price")] for row in result.rows}


def test_each_order_has_the_price_of_its_time(shop, first_spark):
    create_topics(shop.bootstrap, "events", "orders", "prices")
    shop.more(TOPICS)
    models = {"joined": JOINED, "expensive": EXPENSIVE, "per_price": PER_PRICE, "newest": NEWEST}
    for name, sql in models.items():
        shop.model(name, sql)
    traffic = Traffic(shop.bootstrap, Random(5))
    for number in range(4):
        traffic.more(80)
        if number == 3:
            traffic.end()
        _, events = built(shop.root, first_spark)
        assert not errors(events), errors(events)
    expected = traffic.joined()
    joined = {row["id"]: row.get("price") for row in shop.values("joined") if row["id"] >= 0}
    assert joined == expected
    assert len({*expected.values()}) > 10
    # Of the order, not of the version that it finds.
    sent = {
        json.loads(record.value())["id"]: record.timestamp()[1]
        for record in received(shop.bootstrap, "joined")
    }
    ordered = {id_: int(START.timestamp() * 1000) + 1000 * second for id_, _, second in traffic.orders}
    assert {id_: time for id_, time in sent.items() if id_ >= 0} == ordered
    reader = StateReader(first_spark, LocalFiles(), str(shop.root / ".millstream/local/checkpoints"))
    ((size, state),) = reader.rows("joined", ("a",), None)
    assert (size.operator, state.columns) == ("temporal_join", ("item", "valid_from", "version"))
    assert {row[0] for row in state.rows} == {"a"}
    # Of orders, only the newest records are read; of prices, all.
    shown = computed(shop, first_spark, "joined", last=20)
    assert len(shown) > 20
    assert shown.items() <= (expected | {-1: None, -2: None}).items()
    stored = {row["id"]: (row["price"], row["again"]) for row in table_rows(shop.root, "model.expensive")}
    assert stored == {
        id_: (price, price if price < 70 else None)
        for id_, price in expected.items()
        if price is not None and price > 50
    }
    counts = {row["price"]: row["orders"] for row in shop.values("per_price")}
    prices = [-1 if price is None else price for price in expected.values()]
    assert counts == {price: prices.count(price) for price in prices}
