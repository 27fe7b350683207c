"""A table with `refresh='full'` is computed in a run at most as often as it says."""

import time

import pytest
from deltalake.exceptions import TableNotFoundError
from support.running import running
from support.runs import table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.engine.values import Batched

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
        """Return the batches of a query; one of a table over tables has no rows of its own."""
        return [each.batch for each in made.of(Batched) if each.query == query]

    def top():
        try:
            return table_rows(shop.root, "model.top")
        except TableNotFoundError:
            return None  # nothing has been stored yet

    def send(made, number):
        known = len(batches(made, "totals"))
        shop.send(event(number, "ab"[number % 2], float(number)))
        made.until(lambda: len(batches(made, "totals")) > known)

    with running(shop.root, first_spark) as made:
        send(made, 0)
        # It starts once `totals` has caught up.
        made.until(lambda: top() == [{"user": "a", "total": 0.0}])
        began, first = time.monotonic(), len(batches(made, "top"))
        for number in range(1, 12):
            send(made, number)
        made.until(lambda: top() == [{"user": "b", "total": 36.0}])
        computed = len(batches(made, "top")) - first
        seconds = time.monotonic() - began
    assert len(batches(made, "totals")) >= 12
    # Spark begins batches at multiples of the interval.
    assert 1 <= computed <= min(seconds / EVERY + 2, 11)
