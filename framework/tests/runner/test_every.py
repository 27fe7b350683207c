"""A table with `refresh='full'` is computed in a run at most as often as it says."""

import time

import pytest
from support.running import running
from support.runs import table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.runner.values import Batched

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

EVERY = 8
TOP = f"""
    {{{{ config(materialized='table', unique_key='user', refresh='full', every='{EVERY} seconds') }}}}
    select user, total from {{{{ ref('totals') }}}} order by total desc, user limit 1
"""


def test_a_run_waits_between_full_computations(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model("top", TOP)

    def batches(made, query):
        return [each.batch for each in made.of(Batched) if each.query == query and each.batch.rows]

    with running(shop.root, first_spark) as made:
        began = time.monotonic()
        for number in range(12):
            shop.send(event(number, "ab"[number % 2], float(number)))
            made.until(lambda sent=number: len(batches(made, "totals")) > sent)
        made.until(lambda: table_rows(shop.root, "model.top") == [{"user": "b", "total": 36.0}])
        computed, followed = len(batches(made, "top")), len(batches(made, "totals"))
        seconds = time.monotonic() - began
    assert followed == 12
    # Spark begins the first batch at once, and the others at multiples of the interval.
    assert 2 <= computed <= min(seconds / EVERY + 2, followed - 1)
