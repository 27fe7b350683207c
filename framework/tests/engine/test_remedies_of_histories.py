"""What to do when the history of a topic and the topic do not fit together."""

from datetime import timedelta

import pytest
from engine.test_histories import TOTALS, stored_totals, totals_of
from support.delta_tables import failure, good_build
from support.histories import START, append_history, forget, send_events, write_history_file
from support.runs import built
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.deploy.planning.intents import FullRefresh

pytestmark = SPARK_WARNINGS


def test_parts_that_do_not_fit(shop, first_spark):
    shop.source(history="{delta_table: old}")
    shop.model("totals", TOTALS)
    append_history(shop, *range(40))
    send_events(shop, *range(30))
    diagnostic = failure(shop, first_spark)
    assert (diagnostic.code, diagnostic.location.path) == ("MS646", "models/sources.yml")
    assert "has record 39 of partition 0, which the topic never had: its next one is 30" in diagnostic.message
    send_events(shop, *range(30, 60))
    forget(shop, 45)
    diagnostic = failure(shop, first_spark)
    assert diagnostic.code == "MS646"
    assert "records 40 to 44 of partition 0 of the topic 'events' are missing" in diagnostic.message
    append_history(shop, *range(40, 45))
    good_build(shop, first_spark)
    assert stored_totals(shop) == totals_of(range(60))
    # Record 45 is from 00:15:00.
    shop.source(history="{delta_table: old, until: '2026-01-01 00:14:00'}")
    with pytest.raises(MillstreamError) as raised:
        built(shop.root, first_spark, intent=FullRefresh())
    (diagnostic,) = raised.value.diagnostics
    # What can't be computed again is still there.
    assert stored_totals(shop) == totals_of(range(60))
    assert (
        "has no record from before 2026-01-01 00:14:00, and no longer those before 45" in diagnostic.message
    )
    append_history(shop, 45, 46, 47)
    shop.source(
        history=f"{{delta_table: old, until: '{START + timedelta(seconds=20 * 48):%Y-%m-%d %H:%M:%S}'}}"
    )
    good_build(shop, first_spark, intent=FullRefresh())
    assert stored_totals(shop) == totals_of(range(60))


@pytest.mark.long
def test_files_that_are_gone_before_the_first_batch_is_done(shop, first_spark):
    shop.source(history="{files: old}")
    shop.model("totals", TOTALS.replace("sum(value)", "sum(if(value = 3, raise_error('no'), value))"))
    write_history_file(shop, "one", *range(20))
    write_history_file(shop, "two", *range(20, 40))
    send_events(shop, *range(60))
    assert failure(shop, first_spark).code != "MS646"
    (shop.root / "old/one.parquet").unlink()
    diagnostic = failure(shop, first_spark)
    assert (diagnostic.code, "has lost what it had" in diagnostic.message) == ("MS646", True)
    good_build(shop, first_spark, intent=FullRefresh())
    assert stored_totals(shop) == totals_of(range(20, 60))
