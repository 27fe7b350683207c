"""Protobuf on Spark, compared with Protobuf's own runtime."""

import json
from random import Random

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import protobufs
from support.long import EXAMPLES
from support.protobufs import comparable, fill, held, new_message, random_schema

from millstream.expressions import Expression, Ref, literal, render
from millstream.formats.protobuf import Schema, protobuf_format
from millstream.formats.protobuf.compiler import compile_protos
from millstream.formats.protobuf.mapping import columns_of, is_map
from millstream.formats.protobuf.schema import message_type
from millstream.formats.protobuf.spark import protobuf_ddl
from millstream.types import STRING

RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck))


def decoding(schema, fields):
    found = protobuf_format(schema).spark.decode(fields)
    written = "".join(f", {literal(each)}" for each in found.arguments)
    return f"inline(array({found.function}(value{written})))"


def encoding(schema, fields):
    items = [(each.name, Expression((Ref(each.name),), each.type)) for each in fields]
    pieces = protobuf_format(schema).spark.encode(items)
    return render(Expression(pieces, STRING), lambda ref: ref.column)


def decoded(spark, values, schema, fields, further=()):
    """Decode values, in order; then calculate further columns."""
    rows = spark.createDataFrame(list(enumerate(map(bytearray, values))), "at int, value binary")
    found = rows.selectExpr("at", decoding(schema, fields)).selectExpr("*", *further)
    return [row.asDict(recursive=True) for row in sorted(found.collect(), key=lambda row: row["at"])]


def as_held(row, message):
    """Read texts of JSON in a row, which the runtime holds as trees."""
    return {field.name: _parsed(row[field.name], field) for field in message.fields if field.name in row}


def _parsed(value, field):
    if value is None or field.message_type is None:
        return value
    if is_map(field):
        each = field.message_type.fields_by_name["value"]
        return {key: _parsed(item, each) for key, item in value.items()}
    if isinstance(value, list):
        return [_parsed(each, field) for each in value]
    if field.message_type.full_name in {f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue")}:
        return _floats(json.loads(value))
    return as_held(value, field.message_type) if isinstance(value, dict) else value


def _floats(value):
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case dict():
            return {key: _floats(each) for key, each in value.items()}
        case list():
            return [_floats(each) for each in value]
        case _:
            return value


def check_random_messages(spark, random, framing):
    descriptors = random_schema(random)
    schema = Schema(descriptors, "p.M0", framing, 7)
    type_ = message_type(descriptors, "p.M0")
    fields = columns_of(descriptors, "p.M0")
    messages = [new_message(descriptors, "p.M0") for _ in range(12)]
    for message in messages:
        fill(random, message)
    prefix = b"\0\0\0\0\x07\0" if framing == "confluent" else b""
    values = [prefix + each.SerializeToString() for each in messages]
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
