"""A topic that was deleted and made anew: its offsets mean other records than those that were read."""

import pytest
from confluent_kafka.admin import AdminClient
from support.runs import built, create_topics, problems, table_rows

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)

TABLE = "{{ config(materialized='table', unique_key='id') }} select id, kind from {{ source('web', 'events') }}"


def remake(bootstrap, topic):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(10)
    while topic in admin.list_topics(timeout=10).topics:
        pass
    create_topics(bootstrap, topic, partitions=1)


def test_it_is_not_read_from_where_the_old_one_was_left(shop, first_spark):
    shop.model("newest", TABLE)
    shop.send(("a", {"id": 1, "kind": "old"}))
    built(shop.root, first_spark)
    remake(shop.bootstrap, "events")
    shop.send(("a", {"id": 2, "kind": "new"}), ("a", {"id": 3, "kind": "new"}))
    _, told = built(shop.root, first_spark)
    (problem,) = problems(told)
    assert problem.code == "MS864"
    assert "'events' was deleted and made anew" in problem.message
    assert not built(shop.root, first_spark, full_refresh=True)[0].failed
    assert sorted(row["id"] for row in table_rows(shop.root, "model.newest")) == [2, 3]
