"""Random messages of Protobuf on Spark, compared with its own runtime."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.long import EXAMPLES
from support.protobuf_spark import as_held, compiled, decoded, decoding, encoding, order_fields
from support.protobufs import comparable, fill, held, new_message, random_schema

from millstream.core.types import Field, parse_type
from millstream.engine.spark.registry import UsedRegistry, use_registry
from millstream.formats.protobuf import ProtobufSchema
from millstream.formats.protobuf.derived import derived_schema
from millstream.formats.protobuf.mapping import columns_of
from millstream.formats.protobuf.schema import message_type

RANDOM = settings(suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def ids(first_spark):
    use_registry(first_spark, UsedRegistry(written={"messages-value": 7}))


def check_random_messages(spark, random, framing):
    descriptors = random_schema(random)
    schema = ProtobufSchema(descriptors, "p.M0", framing, 7, "messages-value")
    type_ = message_type(descriptors, "p.M0")
    fields = columns_of(descriptors, "p.M0")
    messages = [new_message(descriptors, "p.M0") for _ in range(12)]
    for message in messages:
        fill(random, message)
    prefix = b"\0\0\0\0\x07\0" if framing == "confluent" else b""
    values = [prefix + message.SerializeToString() for message in messages]
    # Twice the same message is one message, with twice the elements.
    values += [value + value.removeprefix(prefix) for value in values]
    rows = decoded(spark, values, schema, fields, [f"{encoding(schema, fields)} as written"])
    for value, row in zip(values, rows, strict=True):
        expected = new_message(descriptors, "p.M0")
        expected.ParseFromString(value.removeprefix(prefix))
        assert row["_bad"] is None
        assert comparable(as_held(row, type_)) == comparable(held(expected))
        again = new_message(descriptors, "p.M0")
        again.ParseFromString(bytes(row["written"]).removeprefix(prefix))
        assert comparable(held(again)) == comparable(held(expected))


@settings(RANDOM, max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from(["plain", "confluent"]))
def test_random_messages(first_spark, seed, framing):
    check_random_messages(first_spark, Random(seed), framing)


@pytest.mark.long
@settings(RANDOM, max_examples=max(EXAMPLES // 20, 1))
@given(st.integers(0, 2**32), st.sampled_from(["plain", "confluent"]))
def test_many_random_messages(first_spark, seed, framing):
    check_random_messages(first_spark, Random(seed), framing)


EDITION = """
edition = "2023";
package e;
option features.field_presence = IMPLICIT;
option features.repeated_field_encoding = EXPANDED;
enum Open { O0 = 0; O1 = 1; }
enum Closed { option features.enum_type = CLOSED; C1 = 1; C5 = 5; }
message M {
  int32 implicit = 1;
  int32 explicit = 2 [features.field_presence = EXPLICIT];
  int32 required = 3 [features.field_presence = LEGACY_REQUIRED];
  Open open = 4;
  Closed closed = 5 [features.field_presence = EXPLICIT];
  N delimited = 6 [features.message_encoding = DELIMITED];
  repeated sint32 expanded = 7;
  repeated sint32 packed = 8 [features.repeated_field_encoding = PACKED];
}
message N { string x = 1; }
"""


def test_editions(first_spark, tmp_path):
    schema = compiled(tmp_path, "e.M", e=EDITION)
    fields = order_fields(schema)
    assert [field.name for field in fields if field.nullable] == ["explicit", "closed", "delimited"]
    random, messages = Random(1), [new_message(schema.descriptors, schema.message) for _ in range(50)]
    for message in messages:
        fill(random, message)
    values = [message.SerializeToString(deterministic=True) for message in messages]
    rows = decoded(first_spark, values, schema, fields, [f"{encoding(schema, fields)} as written"])
    for message, value, row in zip(messages, values, rows, strict=True):
        assert row["_bad"] is None
        assert comparable(as_held(row, message.DESCRIPTOR)) == comparable(held(message))
        assert bytes(row["written"]) == value


COLUMNS = {
    "b": ("boolean", "true"),
    "i": ("tinyint", "-128Y"),
    "s": ("smallint", "32767S"),
    "l": ("bigint", "-9223372036854775808L"),
    "f": ("float", "float('NaN')"),
    "d": ("double", "-0.0D"),
    "x": ("binary", "X''"),
    "day": ("date", "date'0001-01-01'"),
    "t": ("timestamp", "timestamp'9999-12-31 23:59:59.999999Z'"),
    "n": ("timestamp_ntz", "timestamp_ntz'2024-02-29 23:59:59.123456'"),
    "p": ("interval", "interval '-1 00:00:00.000001' day to second"),
    "c": ("decimal(38,10)", "-0.0000000001BD"),
    "a": ("array<date>", "array(date'9999-12-31')"),
    "m": ("map<int,struct<x:timestamp>>", "map(1, named_struct('x', timestamp'0001-01-01 00:00:00Z'))"),
    "r": ("struct<x:int,y:array<string>>", "named_struct('x', null, 'y', array('', 'Zürich'))"),
}


def test_rows_of_a_derived_message_are_read_as_they_were_written(first_spark):
    fields = tuple(Field(name, parse_type(type_)) for name, (type_, _) in COLUMNS.items())
    schema = ProtobufSchema(
        derived_schema(fields, "shop.Order").descriptors, "shop.Order", "confluent", 7, "messages-value"
    )
    spark_types = {field.name: field.type for field in fields} | {"p": "interval day to second"}
    rows = [
        ", ".join(f"cast({value} as {spark_types[name]}) as {name}" for name, (_, value) in COLUMNS.items()),
        ", ".join(
            f"cast({ {'a': 'array()', 'm': 'map()'}.get(name, 'null') } as {spark_types[name]}) as {name}"
            for name in COLUMNS
        ),
    ]
    first_spark.sql(" union all ".join(f"select {row}" for row in rows)).createOrReplaceTempView("before_pb")
    decoded_rows = first_spark.sql(
        f"select *, {decoding(schema, fields).replace('value', encoding(schema, fields), 1)} from before_pb"
    )
    names = [*COLUMNS, *(f"{name}_read" for name in COLUMNS), "_bad"]
    compared = decoded_rows.toDF(*names).selectExpr(
        "_bad",
        *(
            f"to_json(struct({name} as v)) <=> to_json(struct({name}_read as v)) and typeof({name}) = typeof({name}_read) as {name}"
            for name in COLUMNS
        ),
    )
    for row in compared.collect():
        assert row.asDict() == {"_bad": None, **dict.fromkeys(COLUMNS, True)}
