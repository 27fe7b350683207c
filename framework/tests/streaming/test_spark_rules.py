"""What Spark 4.2.0 does with event time, which the oracle stands on: plain PySpark, with nothing of Millstream."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from support.spark import SPARK_WARNINGS

from streaming.query_runner import QUICK

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
COLUMNS = "k string, n bigint, at timestamp"
WINDOWS = "select unix_seconds(window.start) - 1704067200 as s, count(*) as c from a watermark at delay of interval 10 seconds group by window(at, '10 seconds')"
NEAR = "l.k = r.k and r.at between l.at - interval 5 seconds and l.at + interval 20 seconds"
SIDES = "from (select * from a watermark at delay of interval 10 seconds) as l {kind} join (select * from b watermark at delay of interval 10 seconds) as r on {near}"


class Stream:
    """A query over files: one for each micro-batch of each view."""

    def __init__(self, spark, folder) -> None:
        self.session = spark.newSession()
        for name, value in QUICK.items():
            self.session.conf.set(name, value)
        self.folder = folder
        self.files = 0
        self.batches: list[list[tuple]] = []

    def run(self, make, *batches, mode="append"):
        """Go on from the checkpoint with more batches, each with rows by view; return the rows of all batches.

        `make` is SQL, or makes the rows of a session.
        """
        for batch in batches:
            for view in "ab":
                view_folder = self.folder / view
                view_folder.mkdir(exist_ok=True)
                rows = [
                    {"k": k, "n": n, "at": None if second is None else START + timedelta(seconds=second)}
                    for k, n, second in batch.get(view, [])
                ]
                schema = to_arrow_schema(StructType.fromDDL(COLUMNS), timezone="UTC")
                pq.write_table(
                    pa.Table.from_pylist(rows, schema=schema), view_folder / f"{self.files:06}.parquet"
                )
                os.utime(view_folder / f"{self.files:06}.parquet", (10**9 + self.files, 10**9 + self.files))
            self.files += 1
        for view in "ab":
            reader = self.session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
            reader.parquet(str(self.folder / view)).createOrReplaceTempView(view)
        rows = self.session.sql(make) if isinstance(make, str) else make(self.session)

        def keep(batch_rows, number) -> None:
            self.batches.append(sorted(map(tuple, batch_rows.collect()), key=repr))

        writer = rows.writeStream.outputMode(mode).option(
            "checkpointLocation", str(self.folder / "checkpoint")
        )
        writer.foreachBatch(keep).trigger(availableNow=True).start().awaitTermination()
        return self.batches


@pytest.fixture
def stream(spark, tmp_path):
    return Stream(spark, tmp_path)


def a(*times):
    """Return a batch with rows of one key."""
    return {"a": [("x", number, second) for number, second in enumerate(times)]}


def test_windows_close_by_the_watermark_of_their_batch_and_a_last_one_without_rows(stream):
    assert stream.run(WINDOWS, a(1, 25), a(26), a(41)) == [[], [(0, 1)], [], [(20, 2)]]


def test_rows_are_late_by_the_watermark_of_the_batch_before(stream):
    """After the first batch it is at 15, and closes the first window; a row of that one still gets into it."""
    batches = stream.run(WINDOWS, a(1, 25), a(2), a(3), a(61))
    assert batches == [[], [(0, 2)], [], [], [(20, 1)]]


def test_a_batch_without_rows_makes_rows_late_that_would_not_be(stream):
    stream.run(WINDOWS, a(1, 25))
    assert stream.run(WINDOWS, a(2), a(61)) == [[], [(0, 1)], [], [], [(20, 1)]]


def test_windows_that_refine_leave_out_late_rows_too(stream):
    assert stream.run(WINDOWS, a(1, 25), a(2), a(3), mode="update")[:3] == [[(0, 1), (20, 1)], [(0, 2)], []]


def test_rows_without_a_time_count_for_nothing(stream):
    assert stream.run(WINDOWS, a(1, None), a(None), a(25)) == [[], [], [], [(0, 1)]]


def test_a_filter_above_a_watermark_goes_below_it(stream):
    """Catalyst's doing: rows that a model leaves out move no watermark."""
    sql = WINDOWS.replace("group by", "where n = 0 group by")
    assert stream.run(sql, a(1, 25)) == [[], []]


def test_sessions_that_touch_are_one(stream):
    sql = "select unix_seconds(session_window.end) - 1704067200 as e, count(*) as c from a watermark at delay of interval 10 seconds group by session_window(at, '10 seconds'), k"
    assert stream.run(sql, a(0, 10, 21), a(60)) == [[], [], [(20, 2), (31, 1)]]


def test_a_late_row_opens_no_session(stream):
    sql = "select unix_seconds(session_window.end) - 1704067200 as e, count(*) as c from a watermark at delay of interval 10 seconds group by session_window(at, '10 seconds'), k"
    assert stream.run(sql, a(0, 40), a(41), a(20, 22), a(100)) == [[], [(10, 1)], [], [], [(32, 1), (51, 2)]]


@pytest.mark.parametrize(("columns", "late"), [("n, at", []), ("n", [(2,), (3,)])])
def test_what_is_dropped_as_repeated_is_late_where_rows_have_their_time(stream, columns, late):
    def make(session):
        rows = session.sql(f"select {columns} from a watermark at delay of interval 10 seconds")
        return rows.dropDuplicates().select("n")

    batches = stream.run(make, a(2, 50), a(1), {"a": [("x", 2, 1), ("x", 3, 3)]})
    assert [rows for rows in batches if rows] == [
        [(0,), (1,)],
        *([[(0,)]] if "at" in columns else []),
        *([late] if late else []),
    ]


def test_what_is_dropped_within_a_time_is_forgotten_with_the_watermark(stream):
    """A key is forgotten when the watermark is past its first time and the delay that its column tells."""

    def make(session):
        rows = session.sql("select * from a watermark at delay of interval 10 seconds")
        return rows.dropDuplicatesWithinWatermark(["k"]).selectExpr("k", "n")

    batches = stream.run(
        make,
        {"a": [("x", 1, 0), ("y", 2, 5)]},
        {"a": [("x", 3, 9)]},
        {"a": [("y", 4, 22)]},
        {"a": [("x", 5, 23), ("y", 6, 24)]},
    )
    # When the watermark is at 12, `x` is forgotten after the rows of that batch; `y` is not before it is at 15.
    assert batches == [[("x", 1), ("y", 2)], [], [], [], []]
    assert stream.run(make, {"a": [("x", 7, 24), ("y", 8, 24)]})[5] == [("x", 7)]


def test_the_least_watermark_counts_and_none_is_at_the_beginning(stream):
    sql = "select unix_seconds(window.start) - 1704067200 as s, count(*) as c from (select at from a watermark at delay of interval 10 seconds union all select at from b watermark at delay of interval 30 seconds) group by window(at, '10 seconds')"
    batches = stream.run(sql, a(1, 60), {"b": [("x", 1, 45)]})
    assert batches == [[], [], [(0, 1)]]


def test_a_query_that_is_started_again_knows_its_watermark_but_not_whose_it_was(stream):
    sql = "select unix_seconds(window.start) - 1704067200 as s, count(*) as c from (select at from a watermark at delay of interval 10 seconds union all select at from b watermark at delay of interval 10 seconds) group by window(at, '10 seconds')"
    assert stream.run(sql, {**a(1, 20), "b": [("x", 1, 60)]}) == [[], [(0, 1)]]
    # The watermark of `b` was at 50; those of `a` alone move nothing.
    assert stream.run(sql, a(60)) == [[], [(0, 1)], []]
    assert stream.run(sql, {**a(61), "b": [("x", 1, 30)]}) == [[], [(0, 1)], [], [], []]


def test_windows_over_windows_close_together(stream):
    inner = "select window, count(*) as c from a watermark at delay of interval 10 seconds group by window(at, '10 seconds')"
    sql = f"select unix_seconds(w.start) - 1704067200 as s, sum(c) as c from (select window(window_time(window), '20 seconds') as w, c from ({inner})) group by w"
    assert stream.run(sql, a(1, 12, 45), a(46)) == [[], [(0, 2)], []]


def test_late_rows_of_either_side_meet_none(stream):
    sql = f"select l.n, r.n {SIDES.format(kind='', near=NEAR)}"
    batches = stream.run(
        sql,
        {"a": [("x", 1, 0)], "b": [("x", 2, 10), ("x", 3, 60)]},
        {"a": [("x", 4, 60)]},
        {"b": [("x", 5, 12)]},
        {"b": [("x", 6, 12)]},
    )
    assert batches[0] == [(1, 2)]
    assert batches[1] == [(4, 3)]
    # The second batch moved it to 50, by which rows are late from the fourth on.
    assert batches[2:] == [[(1, 5)], []]


@pytest.mark.parametrize(
    ("kind", "expected"), [("", [(5, 6)]), ("left", [(5, 6), (7, None)]), ("left semi", [])]
)
def test_late_rows_of_both_sides_meet_within_a_batch_unless_in_a_semi_join(stream, kind, expected):
    """Below another state, rows are late by the watermark of the batch before."""
    chosen = "l.n" if kind == "left semi" else "l.n, r.n as m"
    sql = f"select {chosen} {SIDES.format(kind=kind, near=NEAR)}"
    batches = stream.run(
        lambda session: session.sql(sql).dropDuplicates(["n"]),
        {"a": [("x", 1, 0)], "b": [("x", 2, 0)]},
        {"a": [("y", 3, 300)], "b": [("z", 4, 300)]},
        {"a": [("x", 5, 100), ("w", 7, 100)], "b": [("x", 6, 100)]},
    )
    assert sorted(row for batch in batches[2:] for row in batch) == expected


def test_a_row_that_met_none_is_told_when_the_watermark_is_past_its_last_partner(stream):
    sql = f"select l.n, r.n {SIDES.format(kind='left', near=NEAR)}"
    both = {"a": [("y", 0, 30)], "b": [("y", 0, 30)]}
    batches = stream.run(sql, {"a": [("x", 1, 0)], "b": []}, both)
    # 20 is not past 0 and 20 seconds.
    assert batches == [[], [(0, 0)], []]
    later = {"a": [("y", 2, 31)], "b": [("y", 3, 31)]}
    assert (1, None) in stream.run(sql, later)[-1]


def test_what_comes_out_of_a_join_is_late_by_its_bounds(stream):
    """The watermark above a join is behind by the wider of the two bounds, and a millisecond."""
    sql = f"select unix_seconds(window.start) - 1704067200 as s, count(*) as c from (select l.at as at {SIDES.format(kind='', near=NEAR)}) group by window(at, '10 seconds')"
    first = {"a": [("x", 1, 1), ("y", 0, 40)], "b": [("x", 2, 2), ("y", 0, 40)]}
    # 40 - 10 - 20 is 10, and a millisecond less does not close the window that ends there.
    assert stream.run(sql, first) == [[], []]
    assert stream.run(sql, {"a": [("y", 0, 41)], "b": [("y", 0, 41)]})[-1] == [(0, 1)]
