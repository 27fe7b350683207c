"""Protobuf on Spark, compared with Protobuf's own runtime."""

import json
from base64 import b64encode
from random import Random

import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.long import EXAMPLES
from support.protobufs import comparable, fill, held, new_message, random_schema

from millstream.expressions import Expression, Ref, render
from millstream.formats.protobuf import Schema, protobuf_format
from millstream.formats.protobuf.compiler import compile_protos
from millstream.formats.protobuf.derived import derived_schema
from millstream.formats.protobuf.mapping import columns_of, is_map
from millstream.formats.protobuf.schema import message_type
from millstream.formats.values import UnfitError
from millstream.types import INT, STRING, Field, parse_type

RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck))


def decoding(schema, fields):
    return f"inline({sql(protobuf_format(schema).spark.decode(fields).rows)})"


def encoding(schema, fields):
    items = [(each.name, Expression((Ref(each.name),), each.type)) for each in fields]
    return sql(protobuf_format(schema).spark.encode(items))


def sql(pieces):
    return render(Expression(pieces, STRING), lambda ref: ref.column)


def decoded(spark, values, schema, fields, further=()):
    """Decode values, in order; then calculate further columns."""
    rows = spark.createDataFrame(list(enumerate(map(bytearray, values))), "_at int, value binary")
    found = rows.selectExpr("_at", decoding(schema, fields)).selectExpr("*", *further)
    return [row.asDict(recursive=True) for row in sorted(found.collect(), key=lambda row: row["_at"])]


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
    if field.message_type.full_name in {
        f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue")
    }:
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


ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
import "old.proto";
enum Status { UNKNOWN = 0; PAID = 1; SENT = -7; }
message First { int32 x = 1; }
message Order {
  message Item { string sku = 1; uint32 count = 2; optional float price = 3; }
  int64 id = 1;
  string name = 2;
  optional int32 small = 3;
  uint64 big = 4;
  sint32 zigzag = 5;
  fixed32 fixed = 6;
  bool ok = 7;
  bytes raw = 8;
  double ratio = 9;
  Status status = 10;
  repeated Item items = 11;
  map<string, Item> by_sku = 12;
  repeated sint64 numbers = 13;
  repeated Status statuses = 14;
  google.protobuf.Timestamp at = 15;
  google.protobuf.Duration took = 16;
  google.protobuf.Struct extra = 17;
  google.protobuf.Int32Value maybe = 18;
  oneof payment { string card = 19; Item voucher = 20; }
  old.Old old = 21;
  optional uint32 count = 22;
}
"""
OLD = """
syntax = "proto2";
package old;
message Old {
  enum Color { RED = 3; BLUE = 4; }
  required int32 a = 1;
  optional string text = 2 [default = "none"];
  optional Color color = 3;
  optional group Inner = 4 { optional int32 x = 1; }
}
"""


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemas")
    (folder / "order.proto").write_text(ORDER)
    (folder / "old.proto").write_text(OLD)
    return Schema(compile_protos(["order.proto"], [folder]), "shop.Order")


def order_fields(schema):
    return columns_of(schema.descriptors, schema.message)


def nested(levels):
    """Return a Struct of a list in a list and so on, with its length before it."""
    value = b"\x08\x00"
    for _ in range(levels):
        value = b"\x32" + sized(b"\x0a" + sized(value))
    return sized(b"\x0a" + sized(b"\x12" + sized(value)))


def sized(value):
    return (
        bytes((len(value),)) if len(value) < 128 else bytes((len(value) & 127 | 128, len(value) >> 7))
    ) + value


LONG = b"\xff" * 9 + b"\x01"
"""-1, and the greatest number of 64 bits."""
BAD = {
    b"\x08": "field id: the value is cut off",
    b"\x08" + b"\xff" * 9 + b"\x02": "field id: not a Protobuf message: a number has more than 64 bits",
    b"\x08" + b"\xff" * 10 + b"\x01": "field id: not a Protobuf message: a number has more than 64 bits",
    b"\x00\x01": "not a Protobuf message: invalid tag at byte 1",
    b"\x0f": "not a Protobuf message: invalid tag at byte 1",
    b"\x0c": "field id: not a Protobuf message: the end of a group that has no start",
    b"\x0d\x01\0\0\0": "field id: a value of wire type 32-bit is not of type int64",
    b"\x12\x01\xff": "field name: the text is not UTF-8",
    b"\x12\x03\xed\xa0\x80": "field name: the text is not UTF-8",
    b"\x12\xff\xff\xff\xff\x0fx": "field name: the value is cut off",
    b"\x12" + LONG: "field name: the value is cut off",
    b"\x18\x80\x80\x80\x80\x08": "field small: '2147483648' is not an int32",
    b"\x28\x80\x80\x80\x80\x10": "field zigzag: '4294967296' is not a sint32",
    b"\x31\0\0\0\0\0\0\0\0": "field fixed: a value of wire type 64-bit is not of type fixed32",
    b"\x38\x03": "field ok: '3' is not a bool",
    b"\x50\x02": "field status: '2' is not a number of enum shop.Status",
    b"\x50\x80\x80\x80\x80\x10": "field status: '4294967296' is not a number of enum shop.Status",
    b"\x5a\x00\x5a\x06\x10\x80\x80\x80\x80\x10": "field items[1].count: '4294967296' is not a uint32",
    b"\x5a\x05\x10\x01": "field items[0]: the value is cut off",
    b"\x62\x03\x0a\x05a": "field by_sku.key: the value is cut off",
    b"\x6a\x02\x02\x80": "field numbers[1]: the value is cut off",
    b"\x72\x01\x03": "field statuses[0]: '3' is not a number of enum shop.Status",
    b"\x7a\x07\x08\xff\xff\xff\xff\xff\x7f": "field at: '4398046511103' is not a timestamp",
    b"\x7a\x02\x10\x01": "field at: 1 nanoseconds are not whole microseconds, which is all that a timestamp",
    b"\x7a\x0b\x10" + LONG: "field at: '-1' is not a number of nanoseconds within a second",
    b"\x82\x01\x04\x08\x01\x10\x01": "field took: 1 nanoseconds are not whole microseconds",
    b"\x82\x01\x0d\x08\x01\x10"
    + LONG: "field took: '-1' is not a number of nanoseconds within a second of 1 s",
    b"\x8a\x01\x05\x0a\x03\x0a\x01a": "field extra: a google.protobuf.Value without a value",
    b"\x8a\x01\x0a\x0a\x05\x0a\x01a": "field extra: the value is cut off",
    b"\x8a\x01\x0a\x0a\x08\x0a\x01a\x12\x03\x1a\x01\xff": "field extra: the text is not UTF-8",
    b"\x8a\x01\x09\x0a\x07\x0a\x01a\x12\x02\x0d\x00": "field extra: a value of wire type 32-bit within",
    b"\x8a\x01\x12\x0a\x10\x0a\x01a\x12\x0b\x11\0\0\0\0\0\0\xf8\x7f\x1a\0": None,
    b"\x8a\x01\x10\x0a\x0e\x0a\x01a\x12\x09\x11\0\0\0\0\0\0\xf8\x7f": "field extra: 'NaN' is not a number of JSON",
    b"\x8a\x01" + nested(40): None,
    b"\x8a\x01" + nested(50): "field extra: the value is nested too deeply",
    b"\x62\x02\x18\x01": "field by_sku: field 3 in an entry of a map, which has a key and a value",
    b"\x8a\x01\x04\x0a\x02\x18\x01": "field extra: field 3 in an entry of a map, which has a key and a value",
    b"\xaa\x01\x00": "field old.a: the required field is missing",
    b"\xaa\x01\x04\x08\x01\x18\x00": "field old.color: '0' is not a number of enum old.Old.Color",
    b"\xaa\x01\x03\x08\x01\x23": "field old.inner: the value ends within a group",
    b"\xaa\x01\x04\x08\x01\x23\x2c": "field old.inner: not a Protobuf message: group 4 ends as group 5",
    b"\xfb\x07" * 200: "groups are nested more than 100 levels deep",
    b"\xfb\x07\xf4\x07": "not a Protobuf message: group 127 ends as group 126",
    b"\xfb\x07": "the value ends within a group",
}


def test_bad_values(first_spark, order):
    rows = decoded(first_spark, BAD, order, order_fields(order))
    wrong = [
        (value, row["_bad"])
        for (value, expected), row in zip(BAD.items(), rows, strict=True)
        if (row["_bad"] if expected is None else not (row["_bad"] or "").startswith(expected))
    ]
    assert not wrong
    rows = [row for row in rows if row["_bad"]]
    assert {each for row in rows for name, each in row.items() if name not in {"_at", "_bad"}} == {None}


FRAMED = {
    b"\0\0\0\0\x07\x00": "the value has message indexes 0, not 1 of message shop.Order",
    b"\0\0\0\0\x07\x02\x02": None,
    b"\0\xff\xff\xff\xff\x02\x02": None,
    b"\0\0\0\0\x07\x02\x04": "the value has message indexes 2, not 1 of message shop.Order",
    b"\0\0\0\0\x07\x02\x01": "the value has message indexes -1, not 1",
    b"\0\0\0\0\x07\x04\x02\x00": "the value has 2 message indexes, not 1 of message shop.Order",
    b"\0\0\0\0\x07\xff\xff\xff\xff\x0f": "the value has -2147483648 message indexes, not",
    b"\0\0\0\0\x07\xff\xff\xff\xff\xff\x0f": "a message index has more than 32 bits",
    b"\0\0\0\0\x07\x02": "the value is cut off in its message indexes",
    b"\0\0\0\0\x07": "the value is cut off in its message indexes",
    b"\0": "the value has 1 bytes, and no id of a schema",
    b"\x01\0\0\0\x07\x02\x02": "the value does not start with a zero byte and the id of a schema",
    b"": "the value has 0 bytes, and no id of a schema",
}


def test_framing(first_spark, order):
    framed = Schema(order.descriptors, order.message, "confluent")
    rows = decoded(first_spark, FRAMED, framed, order_fields(order))
    for expected, row in zip(FRAMED.values(), rows, strict=True):
        assert (row["_bad"] or "").startswith(expected) if expected else row["_bad"] is None


def test_nested_messages_have_several_indexes(first_spark, order):
    item = Schema(order.descriptors, "shop.Order.Item", "confluent", 258)
    prefix = b"\0\0\0\x01\x02\x04\x02\x00"  # two indexes: 1 and 0
    ((row),) = decoded(
        first_spark,
        [prefix + b"\x0a\x01x"],
        item,
        order_fields(item),
        [f"{encoding(item, order_fields(item))} as written"],
    )
    assert (row["sku"], row["count"], row["_bad"], bytes(row["written"])) == (
        "x",
        0,
        None,
        prefix + b"\x0a\x01x",
    )


def without(row):
    return {name: each for name, each in row.items() if name not in {"_at", "_bad"}}


def read_locally(value, schema):
    """Decode a value in Python; return None if it is bad."""
    try:
        return protobuf_format(schema).local.decode(value, ())
    except UnfitError:
        return None


def broken(random, value):
    """Return a value with one thing wrong, or one that only looks so."""
    value = bytearray(value)
    at = random.randrange(len(value))
    match random.randrange(5):
        case 0:
            value[at] ^= 1 << random.randrange(8)
        case 1:
            del value[at:]
        case 2:
            value.insert(at, random.randrange(256))
        case 3:
            del value[at]
        case 4:
            value[at : at + 3] = bytes(random.randrange(256) for _ in range(4))
    return bytes(value)


@pytest.mark.parametrize("framing", ["plain", "confluent"])
def test_broken_values_are_bad_or_what_the_runtime_reads(first_spark, order, framing):
    random = Random(framing)
    schema = Schema(order.descriptors, order.message, framing)
    prefix = b"\0\0\0\0\x07\x02\x02" if framing == "confluent" else b""
    values = []
    while len(values) < 400:
        message = new_message(order.descriptors, order.message)
        fill(random, message)
        values.append(broken(random, prefix + message.SerializeToString(deterministic=True)))
    rows = decoded(first_spark, values, schema, order_fields(order))
    good = 0
    for value, row in zip(values, rows, strict=True):
        local = read_locally(value, schema)
        if row["_bad"] is not None:
            assert local is None
            continue
        good += 1
        expected = new_message(order.descriptors, order.message)
        expected.ParseFromString(value[len(prefix) :])
        assert expected.IsInitialized()
        for found in (row, local):
            assert comparable(as_held(found, expected.DESCRIPTOR)) == comparable(held(expected)), value
    assert 40 < good < 360


def compiled(folder, name, **files):
    for file, text in files.items():
        (folder / f"{file}.proto").write_text(text)
    return Schema(compile_protos([f"{each}.proto" for each in files], [folder]), name)


EVOLVED = {
    # what happens: writer's fields, reader's fields, what is written, what is read or why it is bad
    "added": ("int32 a = 1;", "int32 a = 1; string b = 2; optional int32 c = 3;", {"a": 1}, {"a": 1, "b": "", "c": None}),
    "removed": ("int32 a = 1; string b = 2; N n = 3;", "int32 a = 1;", {"a": 1, "b": "x", "n": {"x": 5}}, {"a": 1}),
    "renamed": ("int32 a = 1;", "int32 other = 1;", {"a": 1}, {"other": 1}),
    "numbered otherwise": ("int32 a = 1;", "int32 a = 2;", {"a": 1}, {"a": 0}),
    "widened": ("int32 a = 1;", "int64 a = 1;", {"a": -5}, {"a": -5}),
    "narrowed": ("int64 a = 1;", "int32 a = 1;", {"a": -5}, {"a": -5}),
    "narrowed too far": ("int64 a = 1;", "int32 a = 1;", {"a": 2**31}, "field a: '2147483648' is not an int32"),
    "signed": ("uint32 a = 1;", "int32 a = 1;", {"a": 7}, {"a": 7}),
    "signed too far": ("uint32 a = 1;", "int32 a = 1;", {"a": 2**32 - 1}, "field a: '4294967295' is not an int32"),
    "unsigned": ("int32 a = 1;", "uint32 a = 1;", {"a": -1}, "field a: '-1' is not a uint32"),
    "to bool": ("int32 a = 1;", "bool a = 1;", {"a": 1}, {"a": True}),
    "to bool, from more": ("int32 a = 1;", "bool a = 1;", {"a": 2}, "field a: '2' is not a bool"),
    "to enum": ("int32 a = 1;", "E a = 1;", {"a": 1}, {"a": "ONE"}),
    "from enum": ("E a = 1;", "int32 a = 1;", {"a": 1}, {"a": 1}),
    "text to bytes": ("string a = 1;", "bytes a = 1;", {"a": "é"}, {"a": "é".encode()}),
    "bytes to text": ("bytes a = 1;", "string a = 1;", {"a": b"\xff"}, "field a: the text is not UTF-8"),
    "bytes to message": ("bytes a = 1;", "N a = 1;", {"a": b"\x08\x05"}, {"a": {"x": 5}}),
    "number to text": ("int32 a = 1;", "string a = 1;", {"a": 1}, "field a: a value of wire type varint is not of type string"),
    "fixed": ("fixed32 a = 1;", "sfixed32 a = 1;", {"a": 2**32 - 1}, {"a": -1}),
    "single to repeated": ("int32 a = 1;", "repeated int32 a = 1;", {"a": 3}, {"a": [3]}),
    "repeated to single": ("repeated string a = 1;", "string a = 1;", {"a": ["x", "y"]}, {"a": "y"}),
    "unpacked": ("repeated int32 a = 1 [packed = false];", "repeated int32 a = 1;", {"a": [1, -1]}, {"a": [1, -1]}),
    "packed": ("repeated int32 a = 1;", "repeated int32 a = 1 [packed = false];", {"a": [1, -1]}, {"a": [1, -1]}),
    "into a oneof": ("string a = 1;", "oneof o { string a = 1; int32 b = 2; }", {"a": "x"}, {"a": "x", "b": None}),
    "map to entries": ("map<string, int32> a = 1;", "repeated Entry a = 1;", {"a": {"k": 1}}, {"a": [{"key": "k", "value": 1}]}),
}  # fmt: skip
SHARED = "enum E { ZERO = 0; ONE = 1; } message N { int32 x = 1; } message Entry { string key = 1; int32 value = 2; }"


def test_evolution(first_spark, tmp_path):
    messages = "".join(
        f"message W{i} {{ {writer} }} message R{i} {{ {reader} }}\n"
        for i, (writer, reader, _, _) in enumerate(EVOLVED.values())
    )
    file = compiled(tmp_path, "W0", all=f'syntax = "proto3"; {SHARED}\n{messages}').descriptors
    for index, (name, (_, _, written, expected)) in enumerate(EVOLVED.items()):
        message = new_message(file, f"W{index}")
        json_format.ParseDict(
            {k: b64encode(v).decode() if isinstance(v, bytes) else v for k, v in written.items()}, message
        )
        reader = Schema(file, f"R{index}")
        fields = columns_of(file, reader.message)
        ((row),) = decoded(first_spark, [message.SerializeToString()], reader, fields)
        found = row["_bad"] or without(row)
        assert found == expected, name


def test_columns_are_a_part_of_the_fields(first_spark, order):
    message = new_message(order.descriptors, order.message)
    message.id, message.card, message.old.a = 5, "visa", 3
    message.items.add(sku="a", count=2)
    fields = [
        Field(name, parse_type(type_))
        for name, type_ in {
            "items": "array<struct<count:bigint>>",
            "old": "struct<text:string,a:smallint>",
            "ID": "int",
            "status": "int",
        }.items()
    ]
    values = [
        message.SerializeToString(),
        b"\x08" + b"\xff" * 9 + b"\x01\xaa\x01\x02\x08\x01",
        b"\xaa\x01\x00",
    ]
    first, second, third = decoded(first_spark, values, order, fields)
    assert first["items"] == [{"count": 2}]
    assert first["old"] == {"text": "none", "a": 3}
    assert (first["ID"], first["status"]) == (5, 0)
    assert (second["ID"], second["items"], second["_bad"]) == (-1, [], None)
    assert third["_bad"] == "field old.a: the required field is missing"


def test_a_column_that_cant_be_null_needs_a_value(first_spark, order):
    ((row),) = decoded(first_spark, [b""], order, [Field("small", INT, nullable=False)])
    assert row["_bad"] == "field small: the value is missing"


def test_the_last_member_of_a_oneof_counts_even_if_nobody_reads_it(first_spark, order):
    both = b"\x9a\x01\x04visa\xa2\x01\x00"
    ((row),) = decoded(first_spark, [both], order, [Field("card", STRING)])
    assert (row["card"], row["_bad"]) == (None, None)


def test_texts_may_hold_what_protobuf_has_no_type_for(first_spark, tmp_path):
    schema = compiled(tmp_path, "T", t='syntax = "proto3"; message T { optional string x = 1; }')
    cases = {
        "date": [("2024-02-29", None), ("20240229", "'20240229' is not a date")],
        "decimal(4,2)": [("1.50", None), ("1.555", "'1.555' is not a decimal(4,2)"), ("1e9", "'1E+9' is"), ("x", "'x' is not")],
        "timestamp_ntz": [("2024-02-29T10:00:00.500000", None), ("10:00", "'10:00' is not")],
    }  # fmt: skip
    for type_, values in cases.items():
        fields = [Field("x", parse_type(type_))]
        message = schema.descriptors, schema.message
        given = [new_message(*message) for _ in values]
        for target, (text, _) in zip(given, values, strict=True):
            target.x = text
        written = f"{encoding(schema, fields)} as written"
        rows = decoded(first_spark, [each.SerializeToString() for each in given], schema, fields, [written])
        for row, (text, expected) in zip(rows, values, strict=True):
            if expected:
                assert row["_bad"].startswith(f"field x: {expected}")
            else:
                assert new_message(*message).FromString(bytes(row["written"])).x == text


def test_types_that_do_not_fit_are_refused_before_any_record(first_spark, order):
    for type_, reason in {"id date": "field shop.Order.id is of type int64, which is not a date", "x int": "message shop.Order has no field x"}.items():  # fmt: skip
        name, _, kind = type_.partition(" ")
        with pytest.raises(Exception, match=reason):
            decoded(first_spark, [], order, [Field(name, parse_type(kind))])


UNFIT = {
    ("int64 a = 1;", "cast(null as bigint)"): "field a: NULL, which would be read as the default of the field",
    ("repeated int32 a = 1;", "cast(null as array<int>)"): "field a: NULL, which would be read as an empty array",
    ("map<string, int32> a = 1;", "cast(null as map<string, int>)"): "field a: NULL, which would be read as an empty map",
    ("repeated int32 a = 1;", "array(1, null)"): "field a[1]: NULL, which repeated fields and maps can't hold",
    ("map<string, N> a = 1;", "map('k', cast(null as struct<x: int>))"): "field a.k: NULL, which repeated fields",
    ("map<string, N> a = 1;", "map('k', named_struct('x', cast(null as int)))"): "field a.k.x: NULL, which would be read",
    ("int32 a = 1;", "2147483648L"): "field a: '2147483648' is not a value of type int32",
    ("uint32 a = 1;", "-1"): "field a: '-1' is not a value of type uint32",
    ("uint64 a = 1;", "-1L"): "field a: '-1' is not a value of type uint64",
    ("uint64 a = 1;", "18446744073709551616BD"): "field a: '18446744073709551616' is not a value of type uint64",
    ("sint64 a = 1;", "9223372036854775808BD"): "field a: '9223372036854775808' is not a value of type sint64",
    ("E a = 1;", "'TWO'"): "field a: 'TWO' is not a value of enum E",
    ("string a = 1;", "cast(X'ff' as string)"): "field a: the text is not UTF-8",
    ("google.protobuf.Timestamp a = 1;", "timestamp_seconds(253402300800)"): "field a: '253402300800' is not a timestamp",
    ("google.protobuf.Struct a = 1;", "'[]'"): "field a: the JSON value is not an object",
    ("google.protobuf.Struct a = 1;", "'{}{}'"): "field a: there is more after the JSON value",
    ("google.protobuf.Value a = 1;", "'12345678901234567890'"): "field a: '12345678901234567890' is not a double",
    ("google.protobuf.Value a = 1;", "''"): "field a: the text is empty",
    ("string a = 1;", "date_from_unix_date(10000000)"): "field a: '+29349-01-26' is not a date of years 1 to 9999",
}  # fmt: skip


def test_values_that_a_message_cant_hold_are_refused_with_their_field(first_spark, tmp_path):
    names = ("timestamp", "struct")
    imports = "".join(f'import "google/protobuf/{name}.proto"; ' for name in names)
    messages = "".join(f"message M{i} {{ {fields} }}\n" for i, (fields, _) in enumerate(UNFIT))
    text = f'syntax = "proto3"; {imports}{SHARED}\n{messages}'
    file = compiled(tmp_path, "M0", all=text).descriptors
    for index, ((_, value), reason) in enumerate(UNFIT.items()):
        row = first_spark.sql(f"select {value} as a")
        fields = [Field("a", parse_type(row.schema["a"].dataType.simpleString()))]
        with pytest.raises(Exception, match=r"encode_protobuf") as found:
            row.selectExpr(encoding(Schema(file, f"M{index}"), fields)).collect()
        assert f"encode_protobuf: {reason}" in str(found.value)


def test_a_oneof_holds_one_value(first_spark, order):
    fields = [Field("card", STRING), Field("voucher", parse_type("struct<sku:string>"))]
    row = first_spark.sql("select 'visa' as card, named_struct('sku', 'x') as voucher")
    with pytest.raises(
        Exception, match="field card: a value, and so has voucher: oneof payment holds only one"
    ):
        row.selectExpr(encoding(order, fields)).collect()


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
    assert [each.name for each in fields if each.nullable] == ["explicit", "closed", "delimited"]
    random, messages = Random(1), [new_message(schema.descriptors, schema.message) for _ in range(50)]
    for message in messages:
        fill(random, message)
    values = [each.SerializeToString(deterministic=True) for each in messages]
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
    schema = Schema(derived_schema(fields, "shop.Order").descriptors, "shop.Order", "confluent", 3)
    spark_types = {field.name: field.type for field in fields} | {"p": "interval day to second"}
    rows = [
        ", ".join(f"cast({value} as {spark_types[name]}) as {name}" for name, (_, value) in COLUMNS.items()),
        ", ".join(
            f"cast({ {'a': 'array()', 'm': 'map()'}.get(name, 'null') } as {spark_types[name]}) as {name}"
            for name in COLUMNS
        ),
    ]
    first_spark.sql(" union all ".join(f"select {row}" for row in rows)).createOrReplaceTempView("before_pb")
    found = first_spark.sql(
        f"select *, {decoding(schema, fields).replace('value', encoding(schema, fields), 1)} from before_pb"
    )
    names = [*COLUMNS, *(f"{name}_read" for name in COLUMNS), "_bad"]
    compared = found.toDF(*names).selectExpr(
        "_bad",
        *(
            f"to_json(struct({name} as v)) <=> to_json(struct({name}_read as v)) and typeof({name}) = typeof({name}_read) as {name}"
            for name in COLUMNS
        ),
    )
    for row in compared.collect():
        assert row.asDict() == {"_bad": None, **dict.fromkeys(COLUMNS, True)}
