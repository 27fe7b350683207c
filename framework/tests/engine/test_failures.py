"""Errors of Spark that no rule knows: what is said of them, and where they were raised."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from millstream.core.errors import MillstreamError
from millstream.engine.queries.failures import problem_of

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
    ("path", "location"),
    [
        ("/srv/shop/macros/shares.py", "(in share, macros/shares.py:2)"),
        (
            "/usr/lib/python3/site-packages/millstream/engine/python/columns.py",
            "(in a Python worker, not a function of the project: share, python/columns.py:2)",
        ),
    ],
)
def test_an_error_of_arrow_says_where_it_was_raised(path, location):
    text = raised("def share():\n    pa.array([1, 'x'], pa.int32())\nshare()", path)
    text = "\n".join(line for line in text.splitlines() if str(Path(__file__)) not in line)
    diagnostic = problem_of("plain", PySparkException(JAVA + text + TAIL), "spark.log")
    assert diagnostic.code == "MS860"
    assert diagnostic.message.startswith("plain: ArrowInvalid: ")
    assert diagnostic.message.endswith(location)


def test_an_error_of_java_has_no_place_in_python():
    diagnostic = problem_of("plain", PySparkException("[SOME_ERROR] it failed. SQLSTATE: 1"), "spark.log")
    assert (diagnostic.message, diagnostic.help) == (
        "plain: [SOME_ERROR] it failed.",
        "see Spark's log: spark.log",
    )


@pytest.mark.parametrize(
    ("keys", "message"), [("null", "topic 'counts' is compacted"), ("'a'), (null", "a record: its topic is")]
)
def test_a_compacted_topic_refuses_records_without_a_key(shop, spark, keys, message):
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
    diagnostic = problem_of("counts", raised.value, "spark.log")
    assert (diagnostic.code, diagnostic.help) == (
        "MS849",
        "leave out rows whose key is NULL, or give them one with coalesce; where a topic follows a table: in that table",
    )
    assert message in diagnostic.message


PLAN = """[PLAN_VALIDATION_FAILED_RULE_IN_BATCH] Rule X in batch Y generated an invalid plan: Project
 +- Filter raise_error(USER_RAISED_EXCEPTION, concat('a data test failed: model m, test t', 'bad record: topic t, partition 0, offset 1: x',
    '[DIVIDE_BY_ZERO] Division by zero', 'a function failed: f(): x', 'No space left on device', 'UnknownTopicOrPartition')) SQLSTATE: XXKD0"""


@pytest.mark.parametrize(
    "text",
    [
        PLAN,
        f"[STREAM_FAILED] Query [id = 1] terminated with exception: {PLAN}",
        f"[STREAM_FAILED] it failed\nCaused by: org.apache.spark.SparkException: {PLAN}",
        PLAN.replace("PLAN_VALIDATION_FAILED_RULE_IN_BATCH", "INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND"),
    ],
)
def test_words_of_a_plan_are_not_why_something_failed(text):
    assert problem_of("plain", PySparkException(text), "spark.log").code == "MS860"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("raise_error('a data test failed: model m, test t: id = 1')", "MS863"),
        ("raise_error('bad record: topic t, partition 0, offset 1: no JSON')", "MS862"),
        ("raise_error('a function failed: model m, topic t, partition 0, offset 1: f(): no')", "MS861"),
        ("cast(v as int)", "MS868"),
        ("map_from_arrays(array('a', 'b', 'a'), array(v, v, v))", "MS868"),
        ("map_from_arrays(array(nullif(v, 'x0')), array(v))", "MS868"),
        ("length(v) % (length(v) - length(v))", "MS868"),
        ("element_at(array(1), length(v) + 5)", "MS868"),
        ("to_timestamp(v, 'yyyy')", "MS868"),
        ("raise_error(v)", "MS868"),
        ("assert_true(v = 'y')", "MS868"),
        ("1 div (length(v) - length(v))", "MS868"),
        # The words stand in the SQL that Spark quotes, and nothing raises them.
        ("concat(cast(v as int), 'a data test failed: model m, test t')", "MS868"),
    ],
)
def test_an_error_of_a_row_is_classified_by_its_condition(spark, sql, code):
    rows = spark.sql(f"select {sql} as x from (select concat('x', id) as v from range(1))")
    with pytest.raises((PySparkException, Py4JJavaError)) as raised:
        rows.write.format("noop").mode("overwrite").save()
    assert problem_of("plain", raised.value, "spark.log").code == code


def test_an_internal_error_is_the_failure_of_its_query():
    try:
        {}["_timestamp"]
    except KeyError as error:
        diagnostic = problem_of("plain", error, "spark.log")
    assert diagnostic.code == "MS900"
    assert "KeyError: '_timestamp' (test_failures.py:" in diagnostic.message


def test_every_exception_of_the_package_is_reported_as_a_failure():
    """Whatever a batch raises is a diagnostic: of the project, of Spark, or an internal error."""
    classes = {
        value
        for module in list(sys.modules.values())
        if module.__name__.startswith("millstream.")
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == module.__name__
    }
    assert classes
    for exception in classes - {MillstreamError}:
        if issubclass(exception, OSError):
            continue  # an error of the machine, whose text says what is wrong
        raised = type(
            exception.__name__,
            (exception,),
            {"__str__": lambda _: "it failed", "__module__": exception.__module__},
        )
        assert problem_of("plain", raised.__new__(raised), "spark.log").code == "MS900", exception


def test_the_remedy_for_duplicate_keys_of_a_map(spark):
    sql = "select map_from_arrays(array(v, v), array(1, 2)) as m from (select concat('x', id) as v from range(1))"
    with pytest.raises((PySparkException, Py4JJavaError)) as raised:
        spark.sql(sql).collect()
    diagnostic = problem_of("plain", raised.value, "spark.log")
    assert diagnostic.message == "plain: DUPLICATED_MAP_KEY: Duplicate map key x0 was found"
    assert "`spark.sql.mapKeyDedupPolicy: LAST_WIN` in `spark:`" in diagnostic.help
    session = spark.newSession()
    session.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
    assert session.sql(sql).first().m == {"x0": 2}


def test_a_record_can_be_too_large(shop, spark):
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    admin.create_topics([NewTopic("large", 1, 1)])["large"].result(10)
    rows = spark.sql("select 'a' as key, repeat('x', 2000000) as value")
    options = {"kafka.bootstrap.servers": shop.bootstrap, "topic": "large"}
    with pytest.raises(Py4JJavaError) as raised:
        rows.write.format("kafka").options(**options).save()
    diagnostic = problem_of("large", raised.value, "spark.log")
    assert diagnostic.code == "MS695"
    assert diagnostic.message.startswith("large: a record of 2,000,0")
    assert diagnostic.help == (
        "set max.request.size in `producer` to more bytes, and max.message.bytes of the topic; or go on without "
        "such records by on_bad_record: skip or dead_letter of the model"
    )
    # With its remedy, the topic's limit is the next one.
    larger = options | {"kafka.max.request.size": "5000000"}
    with pytest.raises(Py4JJavaError) as raised:
        rows.write.format("kafka").options(**larger).save()
    assert problem_of("large", raised.value, "spark.log").code == "MS695"
