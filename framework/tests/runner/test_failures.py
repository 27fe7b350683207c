"""Errors of Spark that no rule knows: what is said of them, and where they were raised."""

from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from millstream.runner.queries.failures import problem_of

JAVA = "[STREAM_FAILED] Query failed: org.apache.spark.api.python.PythonException: "
TAIL = "\n\n\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)\n"


def raised(code, path):
    """Return the traceback of code that is in a file, as a worker sends it."""
    import traceback

    try:
        exec(compile(code, path, "exec"), {"pa": pa})
    except pa.ArrowException:
        return traceback.format_exc()
    raise AssertionError


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/srv/shop/macros/shares.py", "(in share, macros/shares.py:2)"),
        (
            "/usr/lib/python3/site-packages/millstream/runner/python/columns.py",
            "(in a Python worker, not a function of the project: share, python/columns.py:2)",
        ),
    ],
)
def test_an_error_of_arrow_says_where_it_was_raised(path, place):
    text = raised("def share():\n    pa.array([1, 'x'], pa.int32())\nshare()", path)
    text = "\n".join(line for line in text.splitlines() if str(Path(__file__)) not in line)
    found = problem_of("plain", PySparkException(JAVA + text + TAIL), "spark.log")
    assert found.code == "MS860"
    assert found.message.startswith("plain: ArrowInvalid: ")
    assert found.message.endswith(place)


def test_an_error_of_java_has_no_place_in_python():
    found = problem_of("plain", PySparkException("[SOME_ERROR] it failed. SQLSTATE: 1"), "spark.log")
    assert (found.message, found.help) == ("plain: [SOME_ERROR] it failed.", "see Spark's log: spark.log")


@pytest.mark.parametrize(
    ("keys", "said"), [("null", "topic 'counts' is compacted"), ("'a'), (null", "a record: its topic is")]
)
def test_a_compacted_topic_refuses_records_without_a_key(shop, spark, keys, said):
    topic = NewTopic("counts", 1, 1, config={"cleanup.policy": "compact"})
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    admin.create_topics([topic])["counts"].result(10)
    rows = spark.sql(
        f"select cast(key as string) as key, 'x' as value from values ({keys}) as rows(key)"
    ).coalesce(1)
    options = {
        "kafka.bootstrap.servers": shop.bootstrap,
        "topic": "counts",
        "kafka.linger.ms": "500",  # one batch
    }
    writing = rows.write.format("kafka").options(**options)
    with pytest.raises(Py4JJavaError) as raised:
        writing.save()
    found = problem_of("counts", raised.value, "spark.log")
    assert (found.code, found.help) == (
        "MS849",
        "leave out rows whose key is NULL, or give them a key with coalesce",
    )
    assert said in found.message
