"""A dedupe remembers a key as long as it says, which is not how late events may come: here a minute."""

import pytest
from support.runs import built, statuses
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

FIRST = """
    {{{{ config(materialized='sink', key='user', dedupe={{'keys': ['user'], 'within': '{within}'}}) }}}}
    select id, user, at from {{{{ source('web', 'events') }}}}
"""
# Spark moves its watermark after a batch, and forgets at the end of the next one: the second `t` sees to that.
SEEN = [
    ("a", 0),
    ("t", 10),
    ("t", 10),
    ("a", 20),
    ("t", 50),
    ("t", 50),
    ("a", 55),
    ("t", 80),
    ("t", 80),
    ("a", 90),
]


@pytest.mark.long
def test_a_key_is_remembered_as_long_as_it_says(shop, first_spark):
    shop.source(max_rows_per_trigger=1)
    shop.model("hour", FIRST.format(within="1 hour"))
    shop.model("moment", FIRST.format(within="30 seconds"))
    for number, (user, minute) in enumerate(SEEN):
        timestamp = f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00Z"
        shop.send((user, {"id": number, "at": timestamp}))
    results, _ = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}
    assert sorted(row["id"] for row in shop.values("hour")) == [0, 1, 9]
    assert sorted(row["id"] for row in shop.values("moment")) == [0, 1, 3, 5, 6, 8, 9]
