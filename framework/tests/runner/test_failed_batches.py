"""Why a batch could not be stored is told in a line, not by the way there."""

import pytest
from support.runs import built, problems
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.runner.queries.failures import problem_of

pytestmark = SPARK_WARNINGS


@pytest.mark.long
def test_what_spark_says_within_a_batch_is_told(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1))
    built(shop.root, first_spark)
    for part in (shop.root / ".millstream").glob("*/tables/**/*.parquet"):
        part.unlink()
    shop.send(event(2))
    _, told = built(shop.root, first_spark)
    (problem,) = problems(told)
    assert problem.code == "MS860"
    assert problem.message.startswith("totals: [FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error")
    assert "\n" not in problem.message


def test_what_python_raised_is_told_without_its_traceback():
    said = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error "
        "occurred. Reason: An exception was raised by the Python Proxy. Return Message: Traceback (most recent "
        'call last):\n  File "deliveries.py", line 91, in each_batch\n    work(batch, number)\n'
        "pyspark.errors.exceptions.captured.AnalysisException: More than one event time columns are available.\n"
        "\tat py4j.Protocol.getReturnValue(Protocol.java:476)\n"
    )
    found = problem_of("totals", RuntimeError(said), "spark.log")
    assert found.message == "totals: AnalysisException: More than one event time columns are available."
