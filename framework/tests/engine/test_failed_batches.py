"""Why a batch could not be stored is told in a line, not by the way there."""

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from support.runs import built, errors
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.engine.queries.failures import problem_of

pytestmark = SPARK_WARNINGS

BY_VALUE = """
    {{ config(materialized='table', unique_key='value') }}
    select value, count(*) as events from {{ source('web', 'events') }} group by value
"""


@pytest.mark.long
@pytest.mark.parametrize("by_spark", [True, False])
def test_a_missing_file_of_a_table_is_told(shop, first_spark, by_spark):
    # delta-rs stores no table whose key is a number with a fraction.
    shop.model("totals", BY_VALUE if by_spark else TOTALS)
    shop.send(event(1))
    built(shop.root, first_spark)
    files = list((shop.root / ".millstream").glob("*/tables/**/*.parquet"))
    for part in files:
        part.unlink()
    shop.send(event(2))
    _, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS859"
    message, _, path = diagnostic.message.partition(": a file no longer exists: ")
    assert (message, Path(path.removeprefix("file://")).name in {part.name for part in files}) == (
        "totals",
        True,
    )


def test_what_python_raised_is_told_without_its_traceback():
    message = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error "
        "occurred. Reason: An exception was raised by the Python Proxy. Return Message: Traceback (most recent "
        'call last):\n  File "deliveries.py", line 91, in each_batch\n    work(batch, number)\n'
        "pyspark.errors.exceptions.captured.AnalysisException: More than one event time columns are available.\n"
        "\tat py4j.Protocol.getReturnValue(Protocol.java:476)\n"
    )
    diagnostic = problem_of("totals", StreamingQueryException(message), "spark.log")
    assert diagnostic.message == "totals: AnalysisException: More than one event time columns are available."
