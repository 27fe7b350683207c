"""A topic that was deleted and recreated: the saved offsets point to other records."""

import pytest
from confluent_kafka.admin import AdminClient
from support.running import running
from support.runs import built, create_topics, errors, table_rows
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh
from millstream.deploy.values import BatchCompleted, QueryFailed

pytestmark = SPARK_WARNINGS

TABLE = (
    "{{ config(materialized='table', unique_key='id') }} select id, kind from {{ source('web', 'events') }}"
)
IMPATIENT = """{{ config(
    materialized='sink', producer={'delivery.timeout.ms': 10000, 'request.timeout.ms': 5000}
) }} select id from {{ source('web', 'events') }}"""


def remake(bootstrap, topic):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(10)
    while topic in admin.list_topics(timeout=10).topics:
        pass
    create_topics(bootstrap, topic, partitions=1)


@pytest.mark.long
def test_it_is_not_read_from_where_the_old_one_was_left(shop, first_spark):
    shop.model("newest", TABLE)
    shop.send(("a", {"id": 1, "kind": "old"}))
    built(shop.root, first_spark)
    remake(shop.bootstrap, "events")
    shop.send(("a", {"id": 2, "kind": "new"}), ("a", {"id": 3, "kind": "new"}))
    _, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS864"
    assert "'events' was deleted and recreated" in diagnostic.message
    assert diagnostic.help.startswith(
        "read it from its start: millstream build --full-refresh --select newest"
    )
    assert not built(shop.root, first_spark, intent=FullRefresh())[0].failed
    assert sorted(row["id"] for row in table_rows(shop.root, "model.newest")) == [2, 3]


@pytest.mark.long
def test_a_topic_of_a_sink_that_is_deleted_is_created_again_and_gets_what_it_lacks(shop, first_spark):
    shop.model("plain", IMPATIENT)
    shop.send(("a", {"id": 1}))
    with running(shop.root, first_spark) as going:
        going.until(lambda: going.of(BatchCompleted))
        admin = AdminClient({"bootstrap.servers": shop.bootstrap})
        admin.delete_topics(["plain"])["plain"].result(10)
        shop.send(("a", {"id": 2}))
        going.until(lambda: going.of(QueryFailed))
        diagnostic = going.of(QueryFailed)[0].diagnostic
        assert (diagnostic.code, diagnostic.help) == (
            "MS885",
            "check that the topic exists and its brokers answer; unsent records are sent again",
        )
        going.until(lambda: len(going.of(BatchCompleted)) == 2)
    assert [row["id"] for row in shop.values("plain")] == [2]
