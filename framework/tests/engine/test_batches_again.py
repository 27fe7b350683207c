"""A batch that was stored, and killed before Spark knew, on Kafka, Spark and Delta."""

import pytest
from support.runs import built, errors, table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

NEWEST = """
    {{ config(materialized='table', unique_key='user', order_by='id') }}
    select user, id, value * 6 as total from {{ source('web', 'events') }}
"""


@pytest.mark.parametrize(
    "sql", [TOTALS, pytest.param(NEWEST, marks=pytest.mark.long)], ids=["state", "no state"]
)
def test_a_batch_whose_rows_are_stored_and_that_is_run_again_ends(shop, first_spark, sql):
    shop.model("totals", sql)
    shop.send(event(1, value=2.0), event(2, value=3.0))
    built(shop.root, first_spark)
    before = table_rows(shop.root, "model.totals")
    (commits,) = (shop.root / ".millstream").glob("*/checkpoints/*/spark/commits")
    for path in commits.iterdir():
        path.unlink()  # as if it had been killed before it wrote that
    _, events = built(shop.root, first_spark)
    assert [diagnostic.message for diagnostic in errors(events)] == []
    assert table_rows(shop.root, "model.totals") == before
    shop.send(event(3, value=1.0))
    built(shop.root, first_spark)
    assert table_rows(shop.root, "model.totals") == [
        {**before[0], **({"id": 3} if "id" in before[0] else {}), "total": 6.0}
    ]
