"""Tables of Parquet files, as other programs read them, with no code of Millstream."""

from datetime import date
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest
from support.iceberg_events import NAME, NOON, NULLS, ROW, TYPES
from support.parquet_events import ParquetEvents
from support.spark import SPARK_WARNINGS

from millstream.stores.file_sizes import EVERY

pytestmark = SPARK_WARNINGS

COLUMNS = 'id, small, text, day, "at", clock, price, ratio, flag, raw, place, counts'
DAYS = [date(2026, 1, 1), None]


@pytest.mark.parametrize("partitions", [(), ("day",), ("small", "day")])
def test_other_programs_read_what_was_appended(spark, tmp_path, partitions):
    events = ParquetEvents(spark, tmp_path, partition_by=list(partitions))
    events.batch(0, ROW)
    by_pandas = pd.read_parquet(events.path)
    assert [str(day) for day in by_pandas["day"]] == ["2026-01-01"]
    assert by_pandas["price"].tolist() == [Decimal("1.50")]
    events.batch(1, NULLS)
    assert events.read(COLUMNS) == [
        (1, 7, "a", date(2026, 1, 1), NOON, NOON.replace(tzinfo=None), Decimal("1.50"), 0.5, True,
         b"\x00\xff", {"city": "Rome", "tags": ["x", None]}, {"k": 2}),
        (2, *[None] * 11),
    ]  # fmt: skip
    by_polars = pl.read_parquet(events.pattern, hive_partitioning=True, try_parse_hive_dates=True).sort("id")
    assert by_polars["day"].to_list() == DAYS
    assert by_polars["small"].to_list() == [7, None]
    assert by_polars["at"].to_list() == [NOON, None]
    by_spark = spark.read.parquet(str(events.path)).orderBy("id")
    assert [(row["day"], row["small"], row["at"]) for row in by_spark.select("day", "small", "at").collect()] == [
        (DAYS[0], 7, row_time(events, spark)), (None, None, None),
    ]  # fmt: skip
    rows = events.tables.rows(spark, NAME, events.table.columns).orderBy("id")
    assert dict(rows.dtypes) == TYPES
    assert [tuple(row) for row in rows.select("id", "small", "text").collect()] == [
        (1, 7, "a"),
        (2, None, None),
    ]
    assert events.query("select id, place, counts, day from events order by id") == [
        (1, {"city": "Rome", "tags": ["x", None]}, {"k": 2}, DAYS[0]), (2, None, None, None),
    ]  # fmt: skip


def row_time(events, spark):
    """Return noon as PySpark returns it: in the zone of the machine, without one."""
    return NOON.astimezone().replace(tzinfo=None)


def test_a_folder_may_have_any_name(spark, tmp_path):
    events = ParquetEvents(spark, tmp_path / "a [b] {c}, %20é", partition_by=["day"])
    events.batch(0, ROW, NULLS)
    assert sorted(events.query("select id, small from events")) == [(1, 7), (2, None)]
    assert events.tables.rows(spark, NAME, events.table.columns).count() == 2


def test_a_batch_is_few_files_and_a_batch_without_rows_none(spark, tmp_path):
    events = ParquetEvents(spark, tmp_path, types={"id": "bigint", "day": "int"}, partition_by=["day"])
    assert not events.tables.has_rows(events.table)
    events.batch(0)
    assert events.data_files() == []
    assert not events.tables.has_rows(events.table)
    assert events.query("select * from events") == []
    assert events.tables.rows(spark, NAME, events.table.columns).count() == 0
    frame = spark.range(1000).selectExpr("id", "cast(id % 2 as int) as day").repartition(8)
    events.store(1, frame)
    assert len(events.data_files()) == 2
    assert events.tables.has_rows(events.table)
    assert events.read("count(*) over (), sum(id) over ()")[0] == (1000, 499_500)


def test_columns_of_later_batches_are_null_in_earlier_rows(spark, tmp_path):
    events = ParquetEvents(spark, tmp_path, types={"id": "bigint", "day": "date"}, partition_by=["day"])
    events.batch(0, (1, DAYS[0]))
    events.create({"id": "bigint", "day": "date", "more": "struct<n:int>"}, partition_by=["day"])
    events.batch(1, (2, DAYS[0], (3,)))
    assert events.read("id, day, more") == [(1, DAYS[0], None), (2, DAYS[0], {"n": 3})]
    assert events.query("select id, more from events order by id") == [(1, None), (2, {"n": 3})]


def test_files_go_when_all_of_their_rows_are_too_old(spark, tmp_path):
    events = ParquetEvents(
        spark, tmp_path, types={"id": "int", "at": "timestamp"}, retention="10 minutes", order_by="at"
    )
    first, *near, newest = (NOON.replace(minute=minute) for minute in (0, 25, 30, 37))
    events.batch(0, (1, first), (2, None))
    events.batch(1, *enumerate(near, 3))
    events.batch(EVERY, (5, newest))
    assert events.read("id") == [(3,), (4,), (5,)]
    events.batch(EVERY + 1, (6, first))
    events.batch(2 * EVERY, (7, newest.replace(minute=55)))
    assert events.read("id") == [(7,)]
