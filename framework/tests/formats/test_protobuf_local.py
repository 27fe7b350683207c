"""Protobuf in Python, compared with Protobuf's own runtime."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.protobufs import comparable, fill, held, new_message, random_schema

from millstream.core.types import Field, parse_type
from millstream.formats.protobuf import ProtobufSchema, protobuf_format
from millstream.formats.protobuf.compiler import compile_protos
from millstream.formats.protobuf.derived import derived_schema
from millstream.formats.protobuf.mapping import columns_of
from millstream.formats.values import UnfitError

TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
ROW = {
    "b": ("boolean", True),
    "i": ("tinyint", -128),
    "l": ("bigint", -(2**63)),
    "f": ("float", 1.5),
    "d": ("double", 0.1),
    "s": ("string", "Zürich €"),
    "x": ("binary", b"\0\xff"),
    "day": ("date", date(2026, 1, 2)),
    "t": ("timestamp", TIME),
    "n": ("timestamp_ntz", datetime(2026, 1, 2, 3, 4, 5)),  # noqa: DTZ001 - a local time
    "p": ("interval", timedelta(days=-3, microseconds=1)),
    "c": ("decimal(38,10)", Decimal("-1234567890.0123456789")),
    "a": ("array<decimal(3,1)>", [Decimal("1.5")]),
    "m": ("map<string,date>", {"k": date(2026, 1, 2)}),
    "r": ("struct<x:int,y:array<struct<z:timestamp>>>", {"x": 1, "y": [{"z": TIME}, {"z": None}]}),
}
FIELDS = tuple(Field(name, parse_type(type_)) for name, (type_, _) in ROW.items())


@pytest.mark.parametrize("framing", ["plain", "confluent"])
def test_rows_are_read_as_they_were_written(framing):
    schema = ProtobufSchema(derived_schema(FIELDS, "shop.Order").descriptors, "shop.Order", framing, 258)
    local = protobuf_format(schema).local
    row = {name: value for name, (_, value) in ROW.items()}
    empty = {field.name: {"a": [], "m": {}}.get(field.name) for field in FIELDS}
    for sample in (row, empty):
        value = local.encode(sample, FIELDS)
        assert value.startswith(b"\0\0\0\x01\x02\0") == (framing == "confluent")
        assert local.decode(value, FIELDS) == sample


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_random_messages(seed):
    random = Random(seed)
    schema = ProtobufSchema(random_schema(random), "p.M0")
    local = protobuf_format(schema).local
    fields = columns_of(schema.descriptors, schema.message)
    for _ in range(5):
        message = new_message(schema.descriptors, schema.message)
        fill(random, message)
        row = local.decode(message.SerializeToString(), fields)
        again = new_message(schema.descriptors, schema.message)
        again.ParseFromString(local.encode(row, fields))
        assert comparable(held(again)) == comparable(held(message))


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("int32 a = 1;", 2**31, "field a can't hold 2147483648"),
        ("int32 a = 1;", 1.5, r"field a can't hold 1\.5"),
        ("int32 a = 1;", True, "field a can't hold True"),
        ("int32 a = 1;", None, "field a can't hold NULL"),
        ("uint64 a = 1;", -1, "field a can't hold -1"),
        ("bool a = 1;", 1, "field a can't hold 1"),
        ("float a = 1;", 1e39, r"field a can't hold 1e\+39"),
        ("string a = 1;", b"x", "field a can't hold b'x'"),
        ("string a = 1;", "\ud800", "lone surrogate"),
        ("bytes a = 1;", "x", "field a can't hold 'x'"),
        ("E a = 1;", "TWO", "field a can't hold 'TWO'"),
        ("repeated int32 a = 1;", None, "field a can't hold NULL"),
        ("repeated int32 a = 1;", [1, None], r"field a can't hold None"),
        ("repeated string a = 1;", "xy", "field a can't hold 'xy'"),
        ("map<string, int32> a = 1;", {"k": "v"}, "field value can't hold 'v'"),
        ("M b = 2;", {"c": 1}, "message M has no field c"),
        ("oneof o { int32 a = 1; int32 c = 3; }", {"a": 1, "c": 2}, "fields a and c both have values"),
    ],
)
def test_values_that_a_message_cant_hold(tmp_path, field, value, reason):
    text = f'syntax = "proto3"; enum E {{ ZERO = 0; }} message M {{ {field} }}'
    (tmp_path / "m.proto").write_text(text)
    local = protobuf_format(ProtobufSchema(compile_protos(["m.proto"], [tmp_path]), "M")).local
    row = value if "oneof" in field else {"b" if "b = 2" in field else "a": value}
    with pytest.raises(UnfitError, match=reason):
        local.encode(row, ())


def test_a_dataclass_is_a_row(tmp_path):
    from dataclasses import dataclass

    @dataclass
    class Order:
        a: int

    local = protobuf_format(
        ProtobufSchema(derived_schema((Field("a", parse_type("int")),), "M").descriptors, "M")
    ).local
    assert local.encode(Order(5), ()) == b"\x08\x05"
