"""What the decoder of Protobuf refuses on Spark, and that it never disagrees with the runtime."""

import json
from base64 import b64decode, b64encode
from random import Random

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from support.protobuf_spark import as_held, compiled, decoded, decoding, encoding, order_fields, order_schema
from support.protobufs import comparable, fill, held, new_message
from support.registry import gateway

from millstream.engine.spark.registry import UsedRegistry, use_registry
from millstream.formats.format import SchemaFiles
from millstream.formats.protobuf import ProtobufSchema, files, protobuf_format
from millstream.formats.values import UnfitError
from millstream.kafka.registry.settings import RegistryAddress

WRITTEN = {"items-value": 258}


@pytest.fixture(autouse=True, scope="module")
def ids(first_spark):
    use_registry(first_spark, UsedRegistry(written=WRITTEN))


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    return order_schema(tmp_path_factory.mktemp("schemas"))


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
    b"\x7a\x0b\x10" + LONG: "field at: '-1' is not a number of nanoseconds within a second",
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
    assert {value for row in rows for name, value in row.items() if name not in {"_at", "_bad"}} == {None}


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
    framed = ProtobufSchema(order.descriptors, order.message, "confluent")
    rows = decoded(first_spark, FRAMED, framed, order_fields(order))
    for expected, row in zip(FRAMED.values(), rows, strict=True):
        assert (row["_bad"] or "").startswith(expected) if expected else row["_bad"] is None


MOVED = {
    b"\0\0\0\0\x07\x00": None,
    b"\0\0\0\0\x07\x02\x02": "the value has message indexes 1, not 0 of message shop.Order",
    b"\0\0\0\0\x08\x04\x02\x06": None,
    b"\0\0\0\0\x08\x02\x02": "the value has 1 message indexes, not 1.3 of message shop.Order",
    b"\0\0\0\0\x09\x02\x02": "the schema of the value has no message shop.Order",
    b"\0\0\0\0\x0a\x02\x02": "unknown schema id 10",
}


def test_messages_that_other_schemas_have_elsewhere(first_spark, order):
    positions = ((7, "0"), (8, "1.3"), (9, ""))
    framed = ProtobufSchema(order.descriptors, order.message, "confluent", message_positions=positions)
    rows = decoded(first_spark, MOVED, framed, order_fields(order))
    assert [row["_bad"] for row in rows] == list(MOVED.values())


MESSAGE = "message Order { int32 id = 1; }"
REGISTERED = {
    "moved": f'syntax = "proto3"; package shop; message Other {{}} message Outer {{ {MESSAGE} }}',
    "comments": f"""
        // message A {{}}
        syntax = 'proto3'; /* message B {{ */ option java_package = "message C {{}}}}";
        package shop; message D {{ string message = 1; enum E {{ Z = 0; }} message F {{ message G {{}} }} }}
        message Outer {{ reserved "message", "x"; message H {{}} {MESSAGE} }}""",
    "maps": f"""
        syntax = "proto3"; package shop; message map {{ map<string, int32> message = 1; }}
        message Outer {{
          map < int32 , Order > m = 1; oneof one {{ string a = 2 [deprecated = true]; }} map<string, Order> n = 3; {MESSAGE}
        }}""",
    "groups": f"""
        syntax = "proto2"; package shop; extend Outer {{ optional group Ext = 100 {{ optional int32 x = 1; }} }}
        message Outer {{
          optional group A = 1 [deprecated = true] {{ optional group B = 1 {{}} }} oneof one {{ group C = 2 {{}} }}
          extensions 100 to max; extend Outer {{ repeated group D = 101 {{}} }} {MESSAGE.replace("int32", "optional int32")}
        }}""",
    "services": f"""
        syntax = "proto3"; package shop; import "google/protobuf/descriptor.proto";
        message Opt {{ string text = 1; }} extend google.protobuf.FieldOptions {{ Opt opt = 50000; }}
        service S {{ rpc Call (Opt) returns (Opt) {{ option deprecated = true; }} }}
        message Outer {{ string x = 1 [(opt) = {{ text: "}} message Y {{" }}]; {MESSAGE} }} message Order {{}}""",
    "editions": f'edition = "2023"; package shop; message Outer {{ message X {{}} {MESSAGE} }}',
    "other package": f'syntax = "proto3"; package store; message Outer {{ {MESSAGE} }}',
    "long texts": f"""
        syntax = "proto3"; package shop; /* {"message Z { } " * 5_000} */ option java_package = "{"message Y { } " * 5_000}";
        message Outer {{ message X {{}} {MESSAGE} }}""",
    "without it": 'syntax = "proto3"; package shop; message Outer {} message Order {}',
}  # fmt: skip


def test_messages_are_where_schemas_that_only_the_registry_knows_have_them(first_spark, tmp_path):
    texts = list(REGISTERED.values())
    sets = [files.compile_files(SchemaFiles("s.proto", {"s.proto": text})) for text in texts]
    positions = [
        files.place_of(b64encode(descriptor_set).decode(), "shop.Outer.Order") for descriptor_set in sets
    ]
    assert [len(set(positions)), positions[-1]] == [6, ""]
    binary = FileDescriptorSet.FromString(sets[2]).file[-1].SerializeToString()
    answers = [{"schema": text, "schemaType": "PROTOBUF"} for text in (*texts, b64encode(binary).decode())]
    answers += [{"schema": "{}", "schemaType": "JSON"}]

    def answer(path):
        number = int(path.rpartition("/")[2])
        if number >= len(answers):
            return 404, b'{"error_code": 40403}'
        return 200, json.dumps(answers[number]).encode()

    declared = files.read_files(SchemaFiles("s.proto", {"s.proto": texts[0]}, (), "shop.Outer.Order"))
    schema = ProtobufSchema(
        b64decode(declared.essence), "shop.Outer.Order", "confluent", message_positions=((99, "1.0"),)
    )
    with gateway("", answer=answer) as url:
        use_registry(first_spark, UsedRegistry(RegistryAddress(url), WRITTEN))
        for number, position in enumerate([*positions, positions[2]]):
            values = {framed(number, position): None for position in sorted({*positions, "0"} - {""})}
            reasons = [row["_bad"] for row in decoded(first_spark, values, schema, declared.columns)]
            assert [value for value, reason in zip(values, reasons, strict=True) if reason is None] == [
                framed(number, valid) for valid in [position] if position
            ]
        others = {
            framed(10, "0"): "the schema of id 10 is JSON, not PROTOBUF",
            framed(11, "0"): "unknown schema id 11",
        }
        rows = decoded(first_spark, others, schema, declared.columns)
        assert [row["_bad"] for row in rows] == list(others.values())
        number = len(texts) - 2
        rows = first_spark.createDataFrame([(bytearray(framed(number, positions[number])),)], "value binary")
        planned = rows.selectExpr(decoding(schema, declared.columns))
        # Executors are other processes, whose registry is that of the functions alone.
        use_registry(first_spark, UsedRegistry(written=WRITTEN))
        assert [row["_bad"] for row in planned.collect()] == [None]


def framed(number, position):
    indexes = [int(part) for part in position.split(".")]
    return bytes((0, 0, 0, 0, number, 2 * len(indexes), *(2 * index for index in indexes), 8, 5))


EDITIONS = """
edition = "2023";
package e;
enum Open { ZERO = 0; ONE = 1; }
enum Closed { option features.enum_type = CLOSED; THREE = 3; FOUR = 4; }
message Inner { int32 x = 1; }
message M {
  int32 explicit = 1;
  int32 implicit = 2 [features.field_presence = IMPLICIT];
  string required = 3 [features.field_presence = LEGACY_REQUIRED];
  Inner delimited = 4 [features.message_encoding = DELIMITED];
  repeated int32 packed = 5;
  repeated int32 expanded = 6 [features.repeated_field_encoding = EXPANDED];
  Open open = 7;
  Closed closed = 8;
  int32 with_default = 9 [default = -5];
  oneof one { Inner message = 10; string text = 11; }
  extensions 100 to 200;
}
extend M { string more = 100; }
"""


def test_editions(first_spark, tmp_path):
    random, schema = Random(1), compiled(tmp_path, "e.M", m=EDITIONS)
    messages = [new_message(schema.descriptors, "e.M") for _ in range(60)]
    for message in messages[1:]:
        fill(random, message)
    for message in messages:
        message.required = message.required or "r"
    values = [message.SerializeToString() for message in messages]
    values[1] += b"\xa2\x06\x01x"  # the extension
    for message, row in zip(
        messages, decoded(first_spark, values, schema, order_fields(schema)), strict=True
    ):
        assert row["_bad"] is None
        local = protobuf_format(schema).local.decode(message.SerializeToString(), ())
        for read in (row, local):
            assert comparable(as_held(read, message.DESCRIPTOR)) == comparable(held(message))


def test_nested_messages_have_several_indexes(first_spark, order):
    item = ProtobufSchema(order.descriptors, "shop.Order.Item", "confluent", 258, "items-value")
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


def read_locally(value, schema):
    """Decode a value in Python; return None if it is bad."""
    try:
        return protobuf_format(schema).local.decode(value, ())
    except UnfitError:
        return None


def broken(random, value):
    """Return a value with one thing wrong, or one that only looks so."""
    value = bytearray(value)
    index = random.randrange(len(value))
    match random.randrange(5):
        case 0:
            value[index] ^= 1 << random.randrange(8)
        case 1:
            del value[index:]
        case 2:
            value.insert(index, random.randrange(256))
        case 3:
            del value[index]
        case 4:
            value[index : index + 3] = bytes(random.randrange(256) for _ in range(4))
    return bytes(value)


@pytest.mark.parametrize("framing", ["plain", "confluent"])
def test_broken_values_are_bad_or_what_the_runtime_reads(first_spark, order, framing):
    random = Random(framing)
    schema = ProtobufSchema(order.descriptors, order.message, framing)
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
        for read in (row, local):
            assert comparable(as_held(read, expected.DESCRIPTOR)) == comparable(held(expected)), value
    assert 40 < good < 360
