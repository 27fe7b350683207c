"""A table that is refreshed is another one for those that read its changes."""

import pytest
from support.runs import built, create_topics, statuses, table_rows
from support.shops import Shop, event
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh

pytestmark = SPARK_WARNINGS

MODELS = {
    "newest": "{{ config(materialized='table', unique_key='id') }}\n"
    "select id, user, cast(value as int) as value from {{ source('web', 'events') }}",
    "per_user": "{{ config(materialized='table', unique_key='user') }}\n"
    "select user, count(*) as events, sum(value) as total from {{ ref('newest') }} group by user",
    "best": "{{ config(materialized='table', unique_key='user', refresh='full') }}\n"
    "select user, total from {{ ref('per_user') }} order by total desc, user limit 1",
    "sent": "{{ config(materialized='sink', key='user') }} select user, total from {{ ref('per_user') }}",
}


@pytest.mark.long
def test_what_reads_a_refreshed_table_goes_on(tmp_path, broker, first_spark):
    shop = Shop(tmp_path, broker)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    create_topics(shop.bootstrap, "events")
    shop.send(event(1, "a", 2.0), event(2, "a", 3.0), event(3, "b", 4.0))

    def rows(name, column):
        return {row["user"]: row[column] for row in table_rows(shop.root, f"model.{name}")}

    def build(**how):
        results, _ = built(shop.root, first_spark, **how)
        assert set(statuses(results).values()) == {"success"}, results

    build()
    assert rows("per_user", "total") == {"a": 5, "b": 4}
    # Another type of a column is another table.
    shop.model("newest", MODELS["newest"].replace("as int", "as bigint"))
    build(intent=FullRefresh(), models=frozenset({"model.newest"}))
    build()
    assert rows("per_user", "total") == {"a": 5, "b": 4}
    shop.send(event(4, "b", 9.0), event(1, "c", 1.0))
    build()
    assert rows("per_user", "total") == {"a": 3, "b": 13, "c": 1}
    assert rows("best", "total") == {"b": 13}
    newest = {row["user"]: row["total"] for row in shop.values("sent") if row}
    assert newest == {"a": 3, "b": 13, "c": 1}
