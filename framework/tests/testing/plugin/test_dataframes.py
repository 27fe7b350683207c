"""Fixtures hand out DataFrames that chispa compares, and what the row diff of a unit test shows beyond chispa."""

import re
from datetime import datetime, timezone
from decimal import Decimal

import pytest
from chispa import DataFramesNotEqualError, assert_approx_df_equality, assert_df_equality
from chispa.schema_comparer import SchemasNotEqualError
from pyspark.errors import AnalysisException
from support.spark import SPARK_WARNINGS

from millstream.core.text import Location
from millstream.testing.plugin.fixtures import RunModel
from millstream.testing.session import TestSession
from millstream.testing.units.row_diff import diff_rows
from millstream.testing.units.values import ExpectedRow

pytestmark = SPARK_WARNINGS
NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
NESTED = """
    select id, named_struct('ids', array(id), 'at', at) as part, map(kind, value) as by_kind,
        cast(value as decimal(5, 2)) as price, value / 3 as third
    from {{ source('web', 'events') }}
"""
TYPES = (
    "id bigint, part struct<ids: array<bigint>, at: timestamp>, by_kind map<string, double>, "
    "price decimal(5, 2), third double"
)
RED = re.compile(r"\x1b\[31m")


@pytest.fixture
def rows(shop, first_spark):
    """Return the rows of a model with types of all kinds."""
    (shop.root / "models/nested.sql").write_text(NESTED)
    session = TestSession(shop.root)
    ms = int(NOON.timestamp() * 1000)
    events = [
        {"id": 1, "kind": "a", "value": 1.5, "ms": ms},
        {"id": 2, "kind": "b", "value": None, "ms": None},
    ]
    yield RunModel(session)("nested", inputs={"source('web', 'events')": events})
    session.close()


def test_rows_of_a_model_are_a_dataframe_with_its_types(rows, first_spark):
    expected = [
        (2, ([2], None), {"b": None}, None, None),
        (1, ([1], NOON), {"a": 1.5}, Decimal("1.50"), 0.5),
    ]
    frame = first_spark.createDataFrame(expected, TYPES)
    assert_df_equality(rows.df, frame, transforms=[lambda df: df.sort("id")])
    with pytest.raises(AnalysisException, match="HASH_MAP_TYPE"):  # as the guide says
        assert_df_equality(rows.df, frame, ignore_row_order=True)
    assert [row["id"] for row in rows] == [1, 2]
    rough = first_spark.createDataFrame([(1, 0.5004), (2, None)], "id bigint, third double")
    assert_approx_df_equality(rows.df.select("id", "third"), rough, 0.001)
    with pytest.raises(SchemasNotEqualError):
        assert_df_equality(rows.df.select("id"), first_spark.createDataFrame([(1,), (2,)], "id int"))


def chispa_rows(spark, expected, actual, ddl, compare=assert_df_equality, **options):
    """Return how many rows chispa shows in red; 0 where the DataFrames are equal."""
    frames = [
        spark.createDataFrame([tuple(row.values()) for row in rows], ddl) for rows in (actual, expected)
    ]
    try:
        compare(*frames, ignore_row_order=True, **options)
    except DataFramesNotEqualError as error:
        return sum(bool(RED.search(line)) for line in str(error).splitlines())
    return 0


def diff(expected, actual, keys=()):
    row_diff = diff_rows([ExpectedRow(row, Location("t.yml", 1, 1)) for row in expected], actual, keys)
    return 0 if row_diff is None else len(row_diff.pairs)


def test_what_the_row_diff_does_beyond_chispa(first_spark):
    actual = [{"id": number, "name": f"n{number}"} for number in range(5)]
    # Rows are paired, so one missing row is one difference.
    ddl = "id bigint, name string"
    assert (diff(actual[1:], actual, ["id"]), chispa_rows(first_spark, actual[1:], actual, ddl)) == (1, 5)
    # An expected row names only the columns that matter.
    assert diff([{"id": row["id"]} for row in actual], actual) == 0
    # Floats of any size, nested ones too, are compared by their leading digits.
    large, close = [{"a": [1e12 / 3]}], [{"a": [1e12 / 3 + 0.001]}]
    assert diff(large, close) == 0
    options = {"compare": assert_approx_df_equality, "precision": 0.01}
    assert chispa_rows(first_spark, large, close, "a array<double>", **options) == 1
    # It has each expected row's place in the file.
    row_diff = diff_rows([ExpectedRow({"id": 9}, Location("t.yml", 7, 3))], actual)
    assert row_diff.pairs[0].location == Location("t.yml", 7, 3)
