"""Records, messages and objects within their own type: texts of JSON, read and written by Spark and Python alike."""

import io
import json
from datetime import date, datetime, timezone
from decimal import Decimal
from random import Random

import fastavro
import pytest
from google.protobuf.json_format import MessageToDict
from pyspark.errors import SparkRuntimeException
from support.avro_spark import call
from support.bad_columns import plain, reason_of
from support.protobuf_spark import compiled, decoding, encoding
from support.protobufs import fill, new_message

from millstream.core.expressions import sql_literal
from millstream.formats.avro.codec import AvroEncoding, local_codec
from millstream.formats.avro.columns import columns_of, text_type
from millstream.formats.avro.parse import parse_schema
from millstream.formats.json_schema import columns_of as columns_of_json
from millstream.formats.json_values import read_json
from millstream.formats.protobuf import protobuf_format
from millstream.formats.protobuf.mapping import columns_of as columns_of_protobuf
from millstream.formats.sql import fields_to_ddl
from millstream.formats.values import UnfitError

NODE = {
    "type": "record",
    "name": "shop.Node",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "raw", "type": "bytes"},
        {"name": "ratio", "type": "double"},
        {"name": "single", "type": "float"},
        {"name": "text", "type": "string"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "nothing", "type": "null"},
        {"name": "next", "type": ["null", "Node"]},
        {"name": "children", "type": {"type": "array", "items": "Node"}},
        {"name": "by_name", "type": {"type": "map", "values": ["null", "Node"]}},
        {"name": "either", "type": ["null", "int", "Node"]},
        {
            "name": "item",
            "type": ["null", {"type": "record", "name": "Item", "fields": [{"name": "of", "type": "Node"}]}],
        },
    ],
}  # fmt: skip
RATIOS = (0.0, -0.0, 1.5, 1e-7, 1e300, 3.0, 2.0**60, float("nan"), float("-inf"))
TEXTS = ("", 'a "b" \\ c', "Zoë 𝄞", "\t\n\x01", "</x>", "null")


def node(random, depth):
    def maybe():
        return node(random, depth - 1) if depth and random.random() < 0.6 else None

    inner = [maybe() for _ in range(5)]
    return {
        "id": random.randrange(-(2**63), 2**63),
        "price": random.choice([None, Decimal("-0.05"), Decimal("9999999.99"), Decimal("100.00")]),
        "at": datetime(2026, 1, 2, 3, 4, 5, random.choice([0, 7, 120000]), timezone.utc),
        "day": date(1, 1, 1 + random.randrange(9)),
        "raw": random.randbytes(random.randrange(4)),
        "ratio": random.choice(RATIOS),
        "single": random.choice([0.1, 1e10, 16777216.0, -2.5]),
        "text": random.choice(TEXTS),
        "kind": random.choice("AB"),
        "nothing": None,
        "next": inner[0],
        "children": [child for child in inner[1:3] if child],
        "by_name": {random.choice(TEXTS): inner[3]} if depth and random.random() < 0.5 else {},
        "either": random.choice([None, 7]) if inner[4] is None else ("shop.Node", inner[4]),
        "item": {"of": inner[4]} if inner[4] else None,
    }


def avro(row, schema=NODE):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


def fast(value, reader=None):
    reader = reader and fastavro.parse_schema(reader)
    return fastavro.schemaless_reader(io.BytesIO(value), fastavro.parse_schema(NODE), reader)


def untexted(value):
    """Return a node with the texts in it as what they mean, in the form in which fastavro has a node."""
    if isinstance(value, str):
        value = read_json(value, text_type(SCHEMA.root, SCHEMA))
    either = value["either"]
    if either is not None:
        either = either["member0"] if either["member0"] is not None else untexted(either["member1"])
    return {
        **value,
        "next": value["next"] and untexted(value["next"]),
        "children": [untexted(child) for child in value["children"]],
        "by_name": {name: child and untexted(child) for name, child in value["by_name"].items()},
        "either": either,
        "item": value["item"] and {"of": untexted(value["item"]["of"])},
    }


SCHEMA = parse_schema(json.dumps(NODE))


def comparable(value):
    match value:
        case dict():
            return {str(name): comparable(member) for name, member in value.items()}
        case list():
            return [comparable(member) for member in value]
        case bytes() | bytearray():
            return bytes(value)
        case datetime():
            return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
        case float() if value != value:  # noqa: PLR0124 - NaN
            return "NaN"
        case _:
            return value


def parsed(value):
    """Return a value with texts of JSON as their values: objects of google.protobuf.Struct have no order."""
    match value:
        case dict():
            return {name: parsed(member) for name, member in value.items()}
        case list():
            return [parsed(member) for member in value]
        case str() if value.startswith("{"):
            return json.loads(value)
        case _:
            return value


def row_of(struct):
    row = {name: value for name, value in struct.asDict(recursive=True).items() if name != "_bad"}
    return comparable(row)


def test_records_of_avro(first_spark):
    text, random = json.dumps(NODE), Random(1)
    values = [avro(node(random, depth)) for depth in (0, 1, 2, 3) for _ in range(3)]
    columns = fields_to_ddl(columns_of(SCHEMA))
    names = [f"d.{field.name}" for field in columns_of(SCHEMA)]
    rows = first_spark.createDataFrame(
        [(index, bytearray(value)) for index, value in enumerate(values)], "row_number int, value binary"
    )
    decode = call("decode_avro", "value", columns, text, "plain", "")
    encode = call("encode_avro", f"struct({', '.join(names)})", columns, text, "plain", "")
    decoded_rows = (
        rows.selectExpr("row_number", f"{decode} as d")
        .selectExpr("row_number", "d", f"{encode} as written")
        .collect()
    )
    local = local_codec(AvroEncoding(text))
    for spark_row in decoded_rows:
        value = values[spark_row["row_number"]]
        assert spark_row["d"]["_bad"] is None
        row = local.decode(value, ())
        for name, expected in row.items():
            assert row_of(spark_row["d"])[name] == comparable(expected)
        assert comparable(untexted(row)) == comparable(fast(value))
        assert bytes(spark_row["written"]) == local.encode(row, ())
        assert comparable(fast(bytes(spark_row["written"]))) == comparable(fast(value))


def test_records_of_an_older_schema(first_spark):
    fields = [
        field if field["name"] != "id" else {"name": "number", "type": "double", "aliases": ["id"]}
        for field in NODE["fields"]
        if field["name"] not in {"price", "either"}
    ]
    newer = {**NODE, "fields": [*fields, {"name": "note", "type": "string", "default": "é"}]}
    text, writer, random = json.dumps(newer), json.dumps(NODE), Random(2)
    values = [avro(node(random, depth)) for depth in (1, 2, 3, 0)]
    parent = {**node(random, 0), "id": 5}
    values.append(avro({**parent, "children": [{**parent, "id": 6}]}))
    columns = fields_to_ddl(columns_of(parse_schema(text)))
    rows = first_spark.createDataFrame(
        [(index, bytearray(value)) for index, value in enumerate(values)], "row_number int, value binary"
    )
    decode = call("decode_avro", "value", columns, text, "plain", writer)
    local = local_codec(AvroEncoding(text, writer=writer))
    for spark_row in rows.selectExpr("row_number", f"{decode} as d").collect():
        try:
            expected = {**local.decode(values[spark_row["row_number"]], ()), "_bad": None}
        except UnfitError as error:
            expected = {**dict.fromkeys(spark_row["d"].asDict()), "_bad": str(error)}
            assert comparable(plain(spark_row["d"].asDict(recursive=True))) == comparable(expected)
            continue
        assert comparable({**row_of(spark_row["d"]), "_bad": spark_row["d"]["_bad"]}) == comparable(expected)
    (child,) = local.decode(values[-1], ())["children"]
    assert json.loads(child)["number"] == 6
    assert json.loads(child)["note"] == "é"
    assert "price" not in json.loads(child)


BAD_TEXTS = {
    "x": "not JSON",
    "[]": "an array is not an object",
    "null": "'null' is not an object",
    '{"id": 1} {}': "there is more after the JSON value",
    '{"id": 1, "Id": 2}': "'Id' is not a field of the schema",
    '{"id": 1.5, "next": null}': "field id: '1.5' is not a bigint",
    '{"id": 1, "id": 2}': "field id: the object has it twice",
    '{"next": null}': "field id: NULL, but the schema has long, not a union with null",
    '{"id": 1, "next": {"id": "x", "next": null}}': "field next.id: 'x' is not a bigint",
    '{"id": 1, "next": {"id": 2, "other": null}}': "field next: 'other' is not a field of the schema",
}
SMALL = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "id", "type": "long"}, {"name": "next", "type": ["null", "Node"]}],
}


def test_wrong_texts_are_not_written(first_spark):
    text = json.dumps(SMALL)
    columns, local = fields_to_ddl(columns_of(parse_schema(text))), local_codec(AvroEncoding(text))

    def written(json_text):
        return call(
            "encode_avro", f"struct(1L as id, {sql_literal(json_text)} as next)", columns, text, "plain", ""
        )

    for wrong, reason in BAD_TEXTS.items():
        with pytest.raises(UnfitError) as error:
            local.encode({"id": 1, "next": wrong}, ())
        assert "next" in str(error.value)
        assert reason.removeprefix("field ") in str(error.value)
        with pytest.raises(SparkRuntimeException) as failed:
            first_spark.range(1).selectExpr(written(wrong)).collect()
        assert reason.removeprefix("field ") in str(failed.value)
    right = '{"next": {"id": 3, "next": null}, "id": 2.0}'
    (row,) = first_spark.range(1).selectExpr(f"{written(right)} as v").collect()
    nested = {"id": 1, "next": {"id": 2, "next": {"id": 3, "next": None}}}
    assert (
        bytes(row.v)
        == local.encode({"id": 1, "next": right}, ())
        == local.encode(nested, ())
        == avro(nested, SMALL)
    )


def test_deep_records_are_bad(first_spark):
    text = json.dumps(SMALL)
    value = b"\2\2" * 250 + b"\2\0"
    decode = call("decode_avro", "value", fields_to_ddl(columns_of(parse_schema(text))), text, "plain", "")
    (row,) = (
        first_spark.createDataFrame([(bytearray(value),)], "value binary")
        .selectExpr(f"{decode} as d")
        .collect()
    )
    with pytest.raises(UnfitError) as error:
        local_codec(AvroEncoding(text)).decode(value, ())
    assert reason_of(row.d["_bad"]) == str(error.value)
    assert str(error.value).endswith("records are nested more than 100 levels deep")


TREE = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
enum Kind { NONE = 0; LEAF = 1; }
message Tree {
  int64 id = 1; optional double ratio = 2; float single = 3; bytes raw = 4; string text = 5; Kind kind = 6;
  uint64 big = 7; google.protobuf.Timestamp at = 8; google.protobuf.Duration took = 9;
  google.protobuf.Struct extra = 10; google.protobuf.Value any = 11; google.protobuf.Int64Value maybe = 12;
  Tree left = 13; repeated Branch branches = 14; map<int32, Tree> more = 15; map<bool, int64> flags = 16;
  oneof one { Tree inner = 17; string name = 18; }
}
message Branch { Tree tree = 1; repeated sint32 numbers = 2; }
message Forest { Tree first = 1; repeated Tree trees = 2; }
"""


@pytest.mark.parametrize("message", ["Tree", "Forest"])
def test_messages_of_protobuf(first_spark, tmp_path, message):
    schema = compiled(tmp_path, message, tree=TREE)
    fields, random, local = (
        columns_of_protobuf(schema.descriptors, message),
        Random(3),
        protobuf_format(schema).local,
    )
    values = []
    while len(values) < 30:
        sample = new_message(schema.descriptors, message)
        fill(random, sample, 4)
        values.append(sample.SerializeToString(deterministic=True))
    rows = first_spark.createDataFrame(
        [(index, bytearray(value)) for index, value in enumerate(values)], "row_number int, value binary"
    )
    decoded_rows = rows.selectExpr("row_number", "value", decoding(schema, fields)).selectExpr(
        "*", f"{encoding(schema, fields)} as written"
    )
    texts = 0
    for row in decoded_rows.collect():
        value = values[row["row_number"]]
        assert row["_bad"] is None
        decoded = local.decode(value, fields)
        ours = {field.name: row.asDict(recursive=True)[field.name] for field in fields}
        assert parsed(comparable(ours)) == parsed(comparable(decoded))
        before, written, again = (new_message(schema.descriptors, message) for _ in range(3))
        before.ParseFromString(value)
        written.ParseFromString(bytes(row["written"]))
        again.ParseFromString(local.encode(decoded, fields))
        assert MessageToDict(written) == MessageToDict(before) == MessageToDict(again)
        texts += str(decoded).count('{"id":')
    assert texts > 20


def test_objects_of_a_json_schema(first_spark):
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    }
    columns = fields_to_ddl(columns_of_json(json.dumps(schema)))
    value = b'{"id": 1, "children": [{"id": 2, "children": [ {"id": 3.10} ]}, {}]}'
    decode = f"decode_json(value, '{columns}', 'plain')"
    (row,) = (
        first_spark.createDataFrame([(bytearray(value),)], "value binary")
        .selectExpr(f"{decode} as d")
        .collect()
    )
    assert row.d.asDict() == {"id": 1, "children": ['{"id":2,"children":[{"id":3.10}]}', "{}"], "_bad": None}
