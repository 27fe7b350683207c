"""A table with `refresh='full'` is computed in a run at most as often as it says."""

import time

import pytest
from deltalake.exceptions import TableNotFoundError
from support.running import running
from support.runs import table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.deploy.values import BatchCompleted

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

EVERY = 8
TOP = f"""
    {{{{ config(materialized='table', unique_key='user', refresh='full', every='{EVERY} seconds') }}}}
    select user, total from {{{{ ref('totals') }}}} order by total desc, user limit 1
"""


def test_a_run_waits_between_full_computations(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model("top", TOP)

    def batches(run, query):
        """Return the batches of a query; one of a table over tables has no rows of its own."""
        return [event.batch for event in run.of(BatchCompleted) if event.query == query]

    def top():
        try:
            return table_rows(shop.root, "model.top")
        except TableNotFoundError:
            return None  # nothing has been stored yet

    def send(run, number):
        count = len(batches(run, "totals"))
        shop.send(event(number, "ab"[number % 2], float(number)))
        run.until(lambda: len(batches(run, "totals")) > count)

    with running(shop.root, first_spark) as run:
        send(run, 0)
        # It starts once `totals` has caught up.
        run.until(lambda: top() == [{"user": "a", "total": 0.0}])
        began, first = time.monotonic(), len(batches(run, "top"))
        for number in range(1, 12):
            send(run, number)
        run.until(lambda: top() == [{"user": "b", "total": 36.0}])
        computed = len(batches(run, "top")) - first
        seconds = time.monotonic() - began
    assert len(batches(run, "totals")) >= 12
    # Spark begins batches at multiples of the interval.
    assert 1 <= computed <= min(seconds / EVERY + 2, 11)
