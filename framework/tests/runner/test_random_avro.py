"""Random schemas and values: fastavro and our functions on Spark read what the other one wrote."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.avro import comparable, encoded, judged, records
from support.long import EXAMPLES

from millstream.expressions import literal
from millstream.formats.avro.codec import AvroEncoding, local_codec
from millstream.formats.avro.columns import columns_of
from millstream.formats.avro.parse import parse_schema
from millstream.formats.sql import ddl

RANDOM = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@st.composite
def samples(draw):
    schema, values = draw(records())
    return schema, draw(st.lists(values, min_size=8, max_size=8))


MANY = st.lists(samples(), min_size=25, max_size=25)


def call(function, column, *texts):
    return f"{function}({column}, {', '.join(map(literal, texts))})"


def table(spark, columns):
    """Return a table with a column of values for each schema."""
    rows = [tuple(map(bytearray, row)) for row in zip(*columns, strict=True)]
    return spark.createDataFrame(rows, ", ".join(f"v{n} binary" for n in range(len(columns))))


def decoded(spark, calls, columns):
    """Return, for each column of values, the rows that a call returns; the order is that of the values."""
    found = (
        table(spark, columns).coalesce(1).selectExpr(*(f"{c} as d{n}" for n, c in enumerate(calls))).collect()
    )
    return [[comparable(row[n].asDict(recursive=True)) for row in found] for n in range(len(calls))]


@RANDOM
@given(drawn=MANY)
def test_spark_reads_what_fastavro_writes(first_spark, drawn):
    check_reading(first_spark, drawn)


def check_reading(spark, drawn):
    calls, columns = [], []
    for n, (schema, values) in enumerate(drawn):
        text = json.dumps(schema)
        calls.append(call("decode_avro", f"v{n}", ddl(columns_of(parse_schema(text))), text, "plain", ""))
        columns.append([encoded(schema, fast) for fast, _ in values])
    for (schema, values), column, rows in zip(drawn, columns, decoded(spark, calls, columns), strict=True):
        local = local_codec(AvroEncoding(json.dumps(schema)))
        for (_, plain), value, row in zip(values, column, rows, strict=True):
            assert row == comparable({**plain, "_bad": None}), (schema, value)
            assert comparable(local.decode(value, ())) == comparable(plain), (schema, value)


@RANDOM
@given(drawn=MANY)
def test_fastavro_reads_what_spark_writes(first_spark, drawn):
    check_writing(first_spark, drawn)


def check_writing(spark, drawn):
    calls, columns = [], []
    for n, (schema, values) in enumerate(drawn):
        text = json.dumps(schema)
        fields = columns_of(parse_schema(text))
        row = call("decode_avro", f"v{n}", ddl(fields), text, "plain", "")
        names = ", ".join(f"{row}.{field.name}" for field in fields)
        calls.append(call("encode_avro", f"struct({names})", ddl(fields), text, "confluent", "7"))
        columns.append([encoded(schema, fast) for fast, _ in values])
    found = (
        table(spark, columns).coalesce(1).selectExpr(*(f"{c} as d{n}" for n, c in enumerate(calls))).collect()
    )
    for n, (schema, values) in enumerate(drawn):
        local = local_codec(AvroEncoding(json.dumps(schema), "confluent", schema_id=7))
        for (_, plain), value, row in zip(values, columns[n], found, strict=True):
            assert bytes(row[n][:5]) == b"\0\0\0\0\7"
            meant, _ = judged(value, schema)
            assert comparable(judged(bytes(row[n][5:]), schema)) == comparable((meant, True)), (schema, value)
            assert local.encode(plain, ()) == bytes(row[n]), (schema, plain)


@pytest.mark.long
@settings(RANDOM, max_examples=max(1, EXAMPLES // 400))
@given(drawn=MANY)
def test_many_random_schemas(first_spark, drawn):
    check_reading(first_spark, drawn)
    check_writing(first_spark, drawn)
