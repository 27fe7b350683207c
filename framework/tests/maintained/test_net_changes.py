"""What the change feed of a table adds up to: its rows come in no order."""

from datetime import datetime
from itertools import permutations

import pytest

from millstream.engine.queries.table_changes import net_changes

SCHEMA = "id int, v string, _change_type string, _commit_version bigint, _commit_timestamp timestamp"
CASES = {
    "inserted, then updated": (
        [(1, "a", "insert", 5), (1, "a", "update_preimage", 6), (1, "b", "update_postimage", 6)],
        (None, "b", False),
    ),
    "updated, then deleted": (
        [(1, "a", "update_preimage", 5), (1, "b", "update_postimage", 5), (1, "b", "delete", 6)],
        ("a", "b", True),
    ),
    "deleted, then inserted again": (
        [(1, "a", "delete", 5), (1, "c", "insert", 7)],
        ("a", "c", False),
    ),
    "inserted, then deleted": ([(1, "a", "insert", 5), (1, "a", "delete", 6)], None),
}


def committed(version):
    return datetime(2026, 1, 1, 0, version)  # noqa: DTZ001 -- Spark returns local times


@pytest.mark.parametrize("case", CASES)
def test_changes_of_a_row_add_up_in_any_order(spark, case):
    rows, expected = CASES[case]
    orders = list(permutations(rows))
    # Each order is another key, so that one query checks all.
    feed = [(number, *row[1:], committed(row[3])) for number, order in enumerate(orders) for row in order]
    changes = net_changes(spark.createDataFrame(feed, SCHEMA), ("id",), first=False).collect()
    net = [(r._before and r._before.v, r._last.v, r._deleted) for r in changes]
    assert all((r._version, r._time) == (rows[-1][3], committed(rows[-1][3])) for r in changes)
    assert net == ([] if expected is None else [expected] * len(orders))


def test_rows_that_came_and_went_are_deletes_if_the_topic_may_have_them(spark):
    rows, _ = CASES["inserted, then deleted"]
    feed = [(*row, committed(row[3])) for row in rows]
    (change,) = net_changes(spark.createDataFrame(feed, SCHEMA), ("id",), first=True).collect()
    assert (change._before, change._last.v, change._deleted) == (None, "a", True)
