"""Spark settings of each class give other rows for the same SQL, and count as changing results."""

import pytest
from pyspark.errors import PySparkException
from support.spark import SPARK_WARNINGS

from millstream.project.spark_settings import TIMEZONE, settings_of_results
from millstream.project.values import Target

pytestmark = SPARK_WARNINGS

TIMESTAMP = "timestamp_seconds(1767225600)"
CHANGING = {
    "spark.sql.ansi.enabled": ("true", "false", "cast('x' as int)"),
    "spark.sql.ansi.doubleQuotedIdentifiers": ("true", "false", '"id"'),
    "spark.sql.caseSensitive": ("true", "false", "ID"),
    "spark.sql.decimalOperations.allowPrecisionLoss": (
        "true", "false", "cast(1 as decimal(38, 18)) / cast(3 as decimal(38, 18))",
    ),
    "spark.sql.function.concatBinaryAsString": ("true", "false", "typeof(concat(X'61', X'62'))"),
    "spark.sql.groupByOrdinal": ("true", "false", "(select count(*) from values (1), (2) as t(x) group by 1 limit 1)"),
    "spark.sql.jsonGenerator.ignoreNullFields": ("true", "false", "to_json(named_struct('a', null))"),
    "spark.sql.legacy.castComplexTypesToString.enabled": ("true", "false", "cast(named_struct('a', 1) as string)"),
    "spark.sql.legacy.javaCharsets": ("true", "false", "encode('a', 'windows-1252')"),
    "spark.sql.legacy.negativeIndexInArrayInsert": ("true", "false", "array_insert(array(1, 2), -1, 3)"),
    "spark.sql.legacy.statisticalAggregate": ("true", "false", "(select stddev(x) from values (1.0D) as t(x))"),
    "spark.sql.legacy.timeParserPolicy": ("LEGACY", "CORRECTED", "date_format(date'2026-01-01', 'u')"),
    "spark.sql.mapKeyDedupPolicy": ("EXCEPTION", "LAST_WIN", "map('a', 1, 'a', id)"),
    "spark.sql.parser.escapedStringLiterals": ("true", "false", r"'a\tb'"),
    "spark.sql.timestampType": ("TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "typeof(timestamp'2026-01-01 00:00:00')"),
    TIMEZONE: ("UTC", "Asia/Tokyo", f"hour({TIMESTAMP})"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGING)
def test_a_setting_that_changes_rows_counts(spark, name):
    *values, sql = CHANGING[name]
    rows = [_rows(spark, name, value, sql) for value in values]
    assert rows[0] != rows[1]
    target = Target("shop", "local", {"spark": {name: values[0]}})
    assert name == TIMEZONE or settings_of_results(target) == {name: values[0]}


def _rows(spark, name, value, sql):
    session = spark.newSession()
    session.conf.set(name, value)
    try:
        return session.sql(f"select {sql} as x from range(1, 2)").collect()
    except PySparkException as error:
        return error.getCondition()
