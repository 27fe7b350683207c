"""Ranges of keys never leave out a row with one of them, and let Spark read fewer files."""

from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from support.spark import SPARK_WARNINGS

from millstream.stores.key_ranges import key_ranges

pytestmark = SPARK_WARNINGS

FORMS = ("name string", "day date", "number int", "wide bigint", "share double")
TEXTS = st.binary(max_size=4) | st.text(max_size=3).map(str.encode)
DAYS, NUMBERS = st.integers(-800_000, 40_000_000), st.integers(-(2**31), 2**31 - 1)
ROWS = st.lists(
    st.tuples(
        *(
            st.none() | strategy
            for strategy in (TEXTS, DAYS, NUMBERS, st.integers(-(2**63), 2**63 - 1), st.floats())
        )
    ),
    max_size=6,
)


def frame(session, rows) -> DataFrame:
    raw = session.createDataFrame(rows, "a binary, b int, c int, d bigint, e double")
    # A cast keeps bytes that are no UTF-8, as a cast of a record's value does.
    return raw.selectExpr(
        "cast(a as string) as name", "date_from_unix_date(b) as day", "c as number", "d as wide", "e as share"
    )


@settings(max_examples=3, deadline=None)
@given(ROWS, ROWS)
def test_no_row_with_a_key_is_left_out(first_spark, keys, others):
    check_ranges(first_spark, keys, others)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS)
def test_no_row_of_many_with_a_key_is_left_out(first_spark, keys, others):
    check_ranges(first_spark, keys, others)


def check_ranges(first_spark, keys, others):
    few, rows = frame(first_spark, keys), frame(first_spark, [*keys, *others])
    types = {field.name: field.dataType for field in rows.schema}
    conditions = key_ranges(few, {name: name for name in types}, types)
    near = reduce(DataFrame.where, conditions, rows)
    ranged = [name for name in types if name != "share"]
    assert len(conditions) in (len(ranged), len(ranged) - 1), "strings that are no UTF-8 have no range"
    on = [f"k.{name} <=> r.{name}" for name in types]
    both = " and ".join(on)
    few.createOrReplaceTempView("k")
    counts = []
    for table in (rows, near):
        table.createOrReplaceTempView("r")
        counts.append(first_spark.sql(f"select count(*) from r left semi join k on {both}").first()[0])
    assert counts[0] == counts[1] >= len(keys)


def test_spark_reads_only_files_in_the_range(first_spark, tmp_path):
    path = str(tmp_path / "t")
    for part in range(4):
        rows = first_spark.range(part * 100, part * 100 + 100).selectExpr("id", "cast(id as string) as name")
        rows.coalesce(1).write.format("delta").mode("append").save(path)
    table = first_spark.read.format("delta").load(path)
    types = {field.name: field.dataType for field in table.schema}
    for keys, files in (([(120,), (180,)], 1), ([(199,), (200,)], 2), ([(None,)], 0)):
        few = first_spark.createDataFrame(keys, "k bigint")
        near = reduce(DataFrame.where, key_ranges(few, {"id": "k"}, types), table)
        assert len(near.inputFiles()) == files
        assert near.selectExpr("count(distinct name)").first()[0] <= 100 * files
