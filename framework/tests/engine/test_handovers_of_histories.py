"""`apply` while a project runs that reads a topic after its history, and the way back."""

import pytest
from engine.test_handover import applied
from engine.test_histories import PLAIN, TOTALS, plain_rows, sent, stored_totals, totals_of
from support.histories import append_history, forget, send_events
from support.running import running
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Apply

pytestmark = [SPARK_WARNINGS, pytest.mark.long]


def test_an_edit_is_applied_to_a_run_and_taken_back(shop, first_spark):
    """What is computed again reads both parts, and the history has more by then."""
    shop.source(history="{delta_table: old}")
    shop.model("totals", TOTALS)
    shop.model("plain", PLAIN)
    append_history(shop, *range(40))
    send_events(shop, *range(50))
    columns = ("id", "user", "value")
    with running(shop.root, first_spark) as run:
        run.until(lambda: sent(shop, "plain", *columns) == plain_rows(range(50)))
        run.until(lambda: stored_totals(shop) == totals_of(range(50)))
        append_history(shop, *range(40, 48))
        forget(shop, 45)
        shop.model("totals", TOTALS.replace("sum(value)", "sum(value + 1)"))
        shop.model("fresh", PLAIN)
        applied(shop, Apply())
        send_events(shop, *range(50, 55))
        run.until(lambda: sent(shop, "plain", *columns) == plain_rows(range(55)))
        run.until(lambda: sent(shop, "fresh", *columns) == plain_rows(range(55)))
        run.until(lambda: stored_totals(shop) == totals_of(range(55), more=1))
        applied(shop, None)
        send_events(shop, *range(55, 60))
        run.until(lambda: stored_totals(shop) == totals_of(range(60)))
        run.until(lambda: sent(shop, "plain", *columns) == plain_rows(range(60)))
