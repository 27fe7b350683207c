"""What helps if an apply finds other rows than the running version has."""

import pytest
from engine.test_apply import ANY, MOST, TOTALS, totals
from support.runs import built, errors, statuses
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Apply

pytestmark = SPARK_WARNINGS


@pytest.mark.long
def test_rows_that_differ_where_the_edit_changes_nothing_are_not_swapped(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0), event(3, "b"))
    built(shop.root, first_spark)
    shop.model("totals", MOST.replace("count(*)", "count(*) + 1"))
    results, events = built(shop.root, first_spark, intent=ANY)
    assert statuses(results) == {"totals": "error"}
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS886"
    assert "2 have different values" in diagnostic.message
    assert "an earlier edit was accepted with --accept" in diagnostic.help
    assert {note.message for note in diagnostic.notes} == {"user 'a': events 2 → 3", "user 'b': events 1 → 2"}
    assert totals(shop) == {"a": (5.0, 2), "b": (1.0, 1)}
    # Asked again, it says so again; accepted, it is swapped.
    _, events = built(shop.root, first_spark, intent=ANY)
    assert [diagnostic.code for diagnostic in errors(events)] == ["MS886"]
    accepted = Apply(ANY.untouched, accept_differences=True)
    results, events = built(shop.root, first_spark, intent=accepted)
    assert [diagnostic.message for diagnostic in errors(events)] == []
    assert statuses(results) == {"totals": "success"}
    assert totals(shop) == {"a": (3.0, 3), "b": (1.0, 2)}
