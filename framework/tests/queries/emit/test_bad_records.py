"""Records that can't be decoded are recognised, and parsed once."""

import pytest
from msgspec.structs import replace
from pyspark.errors import SparkRuntimeException
from support.plans import select, topic, where

from millstream.core.types import BIGINT, parse_type
from millstream.formats.keys import any_value
from millstream.formats.registry import Encoding
from millstream.plan.nodes import Column, TopicScan
from millstream.queries.emit.walk import emit_sql

RECORDS = ['{"a": 1, "b": 2}', "{broken", '{"a": "text"}', "", None, "[]", '{"b": 5}', "null", "   "]


def leaf(node):
    return "events_records" if isinstance(node, TopicScan) else None


@pytest.fixture(scope="module")
def run(spark):
    values = ", ".join(f"({i}, {'null' if r is None else repr(r)})" for i, r in enumerate(RECORDS))
    spark.sql(
        "select cast('k' as binary) as key, cast(value as binary) as value, 'events' as topic, 0 as partition, "
        "cast(id as bigint) as offset, timestamp'2024-01-01 00:00:00' as timestamp, "
        f"cast(null as array<struct<key: string, value: binary>>) as headers from values {values} as t(id, value)"
    ).createOrReplaceTempView("events_records")

    def rows(node, *, deletes=False):
        frame = spark.sql(emit_sql((node,), leaf, deletes=deletes).statement())
        assert str(frame._jdf.queryExecution().executedPlan().toString()).count("invoke(") <= 2
        return [tuple(row) for row in frame.collect()]

    return rows


def test_skipping_leaves_them_out(run):
    node = replace(topic("a", "b", meta=("_offset",)), on_bad_record="skip")
    assert run(node) == [(1, 2, 0), (None, 5, 6)]


def test_a_filter_does_not_hide_them(run):
    from pyspark.errors import PySparkException

    node = select(where(topic("a"), "a = 1"), "a")
    with pytest.raises(
        PySparkException,
        match=r"bad record: topic events, partition 0, offset [0-9]: (not JSON|field a|the value is|the record has no value)",
    ):
        run(node)


def test_metadata_alone_is_never_decoded(run):
    assert len(run(topic(meta=("_offset", "_key")))) == len(RECORDS)


def test_no_value_deletes_from_a_topic_of_newest_rows(run):
    node = replace(topic("a", meta=("_offset", "_key"), unique_by=("_key",)), on_bad_record="skip")
    assert run(node, deletes=True) == [(1, "k", 0, False), (None, "k", 4, True), (None, "k", 6, False)]


@pytest.mark.parametrize(("format_", "field"), [("string", "v"), ("binary", "v")])
def test_plain_values(run, format_, field):
    node = replace(
        topic(field), format=Encoding(format_), fields=(Column("v", topic("type").columns[0].type),)
    )
    assert len(run(node)) == len(RECORDS)


def test_numbers_of_eight_bytes(run, spark):
    node = replace(topic("v"), format=Encoding("long"), fields=(Column("v", BIGINT),), on_bad_record="skip")
    spark.sql(
        "select *, 0 as partition, 0L as offset from values (X'0000000000000102'), (X'ffffffffffffffff'), (X'01') as t(value)"
    ).createOrReplaceTempView("numbers")
    sql = emit_sql((node,), lambda n: "numbers" if isinstance(n, TopicScan) else None).statement()
    assert [r[0] for r in spark.sql(sql).collect()] == [258, -1]


KEYS = [b"k", b"\xff\xfe", None, b"12", b"1" * 30]


@pytest.fixture(scope="module")
def keyed(spark):
    rows = [(key, b'{"a": 1}', "events", 0, offset, None, None) for offset, key in enumerate(KEYS)]
    schema = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    schema += "headers array<struct<key: string, value: binary>>"
    spark.createDataFrame(rows, schema).createOrReplaceTempView("keyed_records")

    def run(node):
        statement = emit_sql(
            (node,), lambda n: "keyed_records" if isinstance(n, TopicScan) else None
        ).statement()
        return [tuple(row) for row in spark.sql(statement).collect()]

    return run


@pytest.mark.parametrize(
    ("type_", "good"), [("string", ["k", None, "12", "1" * 30]), ("bigint", [None, 12]), ("binary", KEYS)]
)
def test_a_key_is_a_value_of_its_type_or_a_bad_record(keyed, type_, good):
    node = replace(topic(meta=("_key",)), key_type=parse_type(type_), on_bad_record="skip")
    assert [bytes(key) if type_ == "binary" and key else key for (key,) in keyed(node)] == good


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("string", "offset 1: the key: not valid UTF-8"),
        ("bigint", "offset [04]: the key: '(k|1+)' is not a bigint"),
    ],
)
def test_a_bad_key_fails_with_its_record(keyed, type_, reason):
    with pytest.raises(SparkRuntimeException, match=f"bad record: topic events, partition 0, {reason}"):
        keyed(replace(topic(meta=("_key",)), key_type=parse_type(type_)))


JSON_KEY = any_value(Encoding("json"))
AVRO_KEY = Encoding(
    "avro", schema='{"type": "record", "name": "K", "fields": [{"name": "a", "type": "int"}]}'
)


@pytest.mark.parametrize(
    ("key_format", "type_", "good"),
    [
        (JSON_KEY, "bigint", [None, 12]),
        (replace(JSON_KEY, decoding="lenient"), "bigint", [None, 12]),
        (JSON_KEY, "decimal(38,0)", [None, 12, 10**30 // 9]),
        (Encoding("long"), "bigint", [None]),
        (AVRO_KEY, "struct<a: int>", [(-54,), None]),
        (Encoding("csv"), "struct<a: int>", [None, (12,)]),
        (Encoding("csv", "lenient"), "struct<a: int>", [None, (12,)]),
    ],
)
def test_keys_in_formats_are_skipped_if_they_are_bad(keyed, key_format, type_, good):
    node = replace(
        topic("a", meta=("_key",)),
        key_type=parse_type(type_),
        key_format=key_format,
        on_bad_record="skip",
    )
    assert [
        key and (tuple(key) if type_.startswith("struct") else int(key)) for _, key in keyed(node)
    ] == good


@pytest.mark.parametrize(
    ("key_format", "type_", "reason"),
    [
        (JSON_KEY, "bigint", r"(not JSON: |'1+' is not a bigint)"),
        (replace(JSON_KEY, decoding="lenient"), "bigint", "not JSON of bigint"),
        (Encoding("long"), "bigint", "not eight bytes of a number"),
        (AVRO_KEY, "struct<a: int>", "(field a: |there is more after the record)"),
        (Encoding("csv"), "struct<a: int>", "field a: .* is not an int"),
    ],
)
def test_keys_in_formats_fail_with_their_record(keyed, key_format, type_, reason):
    node = replace(topic("a", meta=("_key",)), key_type=parse_type(type_), key_format=key_format)
    with pytest.raises(
        SparkRuntimeException, match=f"topic events, partition 0, offset [0-9]: the key: {reason}"
    ):
        keyed(node)


def test_a_lenient_key_is_what_spark_makes_of_it(keyed):
    node = replace(topic(meta=("_key",)), key_format=Encoding("string", "lenient"))
    assert len(keyed(node)) == len(KEYS)
