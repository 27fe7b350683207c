"""Records of other schemas, columns of other types and parts of a schema, on Spark."""

from base64 import b64encode

import pytest
from google.protobuf import json_format
from support.protobuf_spark import SHARED, compiled, decoded, encoding, order_schema, values_of
from support.protobufs import new_message

from millstream.core.types import INT, STRING, Field, parse_type
from millstream.formats.protobuf import ProtobufSchema
from millstream.formats.protobuf.mapping import columns_of


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    return order_schema(tmp_path_factory.mktemp("schemas"))


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
        reader = ProtobufSchema(file, f"R{index}")
        fields = columns_of(file, reader.message)
        ((row),) = decoded(first_spark, [message.SerializeToString()], reader, fields)
        actual = row["_bad"] or values_of(row)
        assert actual == expected, name


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
        samples = [new_message(*message) for _ in values]
        for target, (text, _) in zip(samples, values, strict=True):
            target.x = text
        written = f"{encoding(schema, fields)} as written"
        rows = decoded(
            first_spark, [sample.SerializeToString() for sample in samples], schema, fields, [written]
        )
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
