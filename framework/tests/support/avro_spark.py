"""Calls of our functions on Spark for many schemas at once."""

from hypothesis import HealthCheck, Phase, given, settings

from millstream.core.expressions import sql_literal
from support.avro import comparable
from support.bad_columns import plain

AT_ONCE = 25
_GENERATED = settings(suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate])


def batches(strategy, number):
    """Draw many examples and yield them in batches: one query of Spark is for one batch."""
    examples = []

    @settings(_GENERATED, max_examples=number)
    @given(strategy)
    def collect(example):
        examples.append(example)

    collect()
    for start in range(0, len(examples), AT_ONCE):
        yield examples[start : start + AT_ONCE]


def call(function, column, *texts):
    return f"{function}({column}, {', '.join(map(sql_literal, texts))})"


def select(spark, calls, columns):
    """Call functions of `v0`, `v1`, …, columns of values; return rows in the order of the values."""
    rows = [tuple(map(bytearray, row)) for row in zip(*columns, strict=True)]
    table = spark.createDataFrame(rows, ", ".join(f"v{n} binary" for n in range(len(columns)))).coalesce(1)
    return table.selectExpr(*(f"{call} as d{n}" for n, call in enumerate(calls))).collect()


def decoded(spark, calls, columns):
    """Return the rows that each call returns."""
    rows = select(spark, calls, columns)
    return [[comparable(plain(row[n].asDict(recursive=True))) for row in rows] for n in range(len(calls))]
