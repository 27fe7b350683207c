"""Topics that Confluent's own serializers write, read through `schema: registry`: old and new ids in one batch."""

import json
from datetime import date, datetime, time, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from click.testing import CliRunner
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from support.registry import client_of, needs_java
from support.runs import built, create_topics, errors, send, table_rows
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.formats.protobuf.compiler import compile_protos
from millstream.kafka.registry.local import registry_url, shared_registry

pytestmark = [needs_java, SPARK_WARNINGS]

SOURCES = """
sources:
  - name: foreign
    topics:
      - {name: foreign_avros, schema: registry, key: {name: k, format: avro, schema: registry}}
      - {name: avro_numbers, schema: {strategy: record_name, record: shop.Number}, key: {name: k, format: avro, schema: registry}}
      - {name: foreign_jsons, schema: registry, key: {name: k, format: json, schema: registry}}
      - {name: foreign_protos, schema: registry, message: shop.Click, key: {name: k, format: protobuf, schema: registry}}
"""
KEY = {
    "type": "record",
    "name": "Key",
    "fields": [{"name": "id", "type": "long"}, {"name": "shop", "type": "string"}],
}
OLD_AVRO = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": ["null", "string"]}],
}
LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": "int", "default": 1}],
}
NEW_AVRO = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}, "default": "\u0001"},
        {"name": "id", "type": "long"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}, "default": "NEW"},
        {"name": "at", "type": [{"type": "long", "logicalType": "timestamp-millis"}, "null"], "default": 1},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
        {"name": "noon", "type": ["null", {"type": "int", "logicalType": "time-millis"}], "default": None},
        {"name": "token", "type": ["null", {"type": "string", "logicalType": "uuid"}], "default": None},
        {"name": "digest", "type": ["null", {"type": "fixed", "name": "Digest", "size": 3}], "default": None},
        {"name": "lines", "type": {"type": "array", "items": LINE}, "default": []},
        {"name": "tags", "type": {"type": "map", "values": ["null", "double"]}, "default": {}},
        {"name": "either", "type": ["null", "long", "string"], "default": None},
        {"name": "remark", "aliases": ["note"], "type": ["null", "string"]},
    ],
}  # fmt: skip
NUMBER = {"type": "record", "name": "Number", "namespace": "shop", "fields": [{"name": "n", "type": "int"}]}
WIDE_NUMBER = NUMBER | {"fields": [{"name": "n", "type": "double"}]}
OLD_ROWS = [{"id": 1, "note": "a\0ö"}, {"id": 2, "note": None}, {"id": -(2**31), "note": ""}]
NEW_ROWS = [
    {
        "total": Decimal("-123456.789"),
        "id": 2**63 - 1,
        "state": "PAID",
        "at": datetime(2026, 1, 2, 3, 4, 5, 678000, timezone.utc),
        "day": date(1969, 12, 31),
        "noon": time(23, 59, 59, 999000),
        "token": UUID("12345678-1234-5678-1234-567812345678"),
        "digest": b"\0\xff\x01",
        "lines": [{"sku": "x", "n": 3}, {"sku": "𝄞", "n": -1}],
        "tags": {"a": 1.5, "": None},
        "either": "text",
        "remark": "new",
    },
    {"total": Decimal("0.000"), "id": 4, "at": None, "either": 5, "remark": None},
]
OLD_JSON = {
    "title": "Visit",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "page": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}
NEW_JSON = OLD_JSON | {
    "properties": {
        "id": {"type": "integer"},
        "page": {"type": ["string", "null"]},
        "at": {"type": "string", "format": "date-time"},
        "places": {"type": "array", "items": {"$ref": "#/$defs/place"}},
        "more": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "$defs": {"place": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}}},
}
JSON_KEY = {"title": "Visitor", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PLACE_PROTO = 'syntax = "proto3"; package shop; message Place { double x = 1; optional string name = 2; }'
OLD_PROTO = """
syntax = "proto3";
package shop;
message Click { int64 id = 1; string page = 2; }
message Other { message Deep { int32 n = 1; } }
"""
"""The first message; in the newer schema, it is the second."""
NEW_PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "shop/place.proto";
message Other { message Deep { int32 n = 1; } }
message Click {
  enum Kind { UNKNOWN = 0; TAP = 1; }
  google.protobuf.Timestamp at = 5;
  int64 id = 1;
  string page = 2;
  Kind kind = 3;
  repeated Place places = 4;
  map<string, int32> counts = 6;
  oneof who { string name = 7; uint64 number = 8; }
}
"""
PROTO_KEY = 'syntax = "proto3"; package shop; message Key { int32 n = 1; }'


@pytest.fixture
def registry(shop):
    with (
        shared_registry(shop.root, {}) as server,
        client_of(registry_url(server.address)) as client,
    ):
        yield client


def messages(folder, files, *names):
    """Return classes of messages, by the protobuf runtime alone."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    compiled = descriptor_pb2.FileDescriptorSet.FromString(compile_protos(list(files), [folder])).file
    pool = descriptor_pool.DescriptorPool()
    for file in compiled:
        pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names]


class Topic:
    """Serializes records for a topic; the serializers register schemas as they are used."""

    def __init__(self, name):
        self.name = name
        self.records = []

    def add(self, key, value, key_serializer, value_serializer):
        def written(serializer, part, content):
            return serializer(content, SerializationContext(self.name, part)) if content is not None else None

        record = (
            written(key_serializer, MessageField.KEY, key),
            written(value_serializer, MessageField.VALUE, value),
        )
        self.records.append(record)


def ids(topic):
    return {int.from_bytes(value[1:5], "big") for _, value in topic.records}


@pytest.mark.long
def test_old_and_new_records_of_confluents_serializers(shop, registry, first_spark, monkeypatch, tmp_path):
    topics = [avros(registry), numbers(registry), jsons(registry), protos(registry, tmp_path)]
    assert [len(ids(topic)) for topic in topics] == [2, 2, 2, 2]
    create_topics(shop.bootstrap, *(topic.name for topic in topics), partitions=1)
    send(shop.bootstrap, {topic.name: topic.records for topic in topics})
    shop.write("models/foreign.yml", SOURCES)
    for topic in topics:
        config = "{{ config(materialized='table', unique_key='_offset') }}"
        source = f"{{{{ source('foreign', '{topic.name}') }}}}"
        shop.model(f"read_{topic.name}", f"{config} select *, _offset from {source}")
    monkeypatch.chdir(shop.root)
    pulled = CliRunner().invoke(millstream, ["schemas", "pull"])
    assert pulled.exit_code == 0, pulled.output
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    rows_of_topics = {topic.name: rows(shop, topic.name) for topic in topics}
    assert rows_of_topics["foreign_avros"] == AVRO_ROWS
    assert rows_of_topics["avro_numbers"] == NUMBER_ROWS
    assert rows_of_topics["foreign_jsons"] == JSON_ROWS
    assert rows_of_topics["foreign_protos"] == PROTO_ROWS


def rows(shop, name):
    stored_rows = sorted(table_rows(shop.root, f"model.read_{name}"), key=lambda row: row["_offset"])
    return [{column: value for column, value in row.items() if column != "_offset"} for row in stored_rows]


def avros(client):
    topic, key = Topic("foreign_avros"), AvroSerializer(client, json.dumps(KEY))
    old = AvroSerializer(client, json.dumps(OLD_AVRO))
    topic.add({"id": 1, "shop": "x"}, OLD_ROWS[0], key, old)
    client.set_compatibility("foreign_avros-value", level="NONE")
    new = AvroSerializer(client, json.dumps(NEW_AVRO))
    topic.add({"id": 2**63 - 1, "shop": ""}, NEW_ROWS[0], key, new)
    topic.add({"id": 1, "shop": "x"}, OLD_ROWS[1], key, old)
    topic.add({"id": -1, "shop": "ö"}, OLD_ROWS[2], key, old)
    topic.add(None, NEW_ROWS[1], key, new)
    return topic


_OLD = {
    "total": Decimal("0.001"),
    "state": "NEW",
    "at": datetime(1970, 1, 1, 0, 0, 0, 1000, timezone.utc),
    "day": None,
    "noon": None,
    "token": None,
    "digest": None,
    "lines": [],
    "tags": [],
    "either": None,
}
AVRO_ROWS = [
    {"k": {"id": 1, "shop": "x"}, **_OLD, "id": 1, "remark": "a\0ö"},
    {
        **NEW_ROWS[0],
        "k": {"id": 2**63 - 1, "shop": ""},
        "noon": 86_399_999,
        "token": "12345678-1234-5678-1234-567812345678",
        "tags": [("a", 1.5), ("", None)],
        "either": {"member0": None, "member1": "text"},
    },
    {"k": {"id": 1, "shop": "x"}, **_OLD, "id": 2, "remark": None},
    {"k": {"id": -1, "shop": "ö"}, **_OLD, "id": -(2**31), "remark": ""},
    {
        **_OLD,
        "k": None,
        "total": Decimal("0.000"),
        "id": 4,
        "at": None,
        "remark": None,
        "either": {"member0": 5, "member1": None},
    },
]


def numbers(client):
    """Write records whose subject is the name of the record."""
    of_record = {"subject.name.strategy": lambda _, name: name}
    topic, key = Topic("avro_numbers"), AvroSerializer(client, json.dumps("int"))
    old = AvroSerializer(client, json.dumps(NUMBER), conf=of_record)
    new = AvroSerializer(client, json.dumps(WIDE_NUMBER), conf=of_record)
    topic.add(7, {"n": 1}, key, old)
    topic.add(-7, {"n": 2.5}, key, new)
    topic.add(7, {"n": 2**31 - 1}, key, old)
    return topic


NUMBER_ROWS = [{"k": 7, "n": 1.0}, {"k": -7, "n": 2.5}, {"k": 7, "n": float(2**31 - 1)}]


def jsons(client):
    topic, key = Topic("foreign_jsons"), JSONSerializer(json.dumps(JSON_KEY), client)
    old = JSONSerializer(json.dumps(OLD_JSON), client)
    topic.add({"n": 1}, {"id": 1, "page": "/ö"}, key, old)
    client.set_compatibility("foreign_jsons-value", level="NONE")
    new = JSONSerializer(json.dumps(NEW_JSON), client)
    more = {"at": "2026-01-02T03:04:05.678Z", "places": [{"x": 1.5}, {"y": 2}], "more": {"a": 1e300}}
    topic.add({"n": 2}, {"id": 2**53, "page": None, **more}, key, new)
    topic.add({"n": 3}, {"id": 3}, key, old)
    return topic


_EMPTY = {"at": None, "places": None, "more": None}
JSON_ROWS = [
    {"k": {"n": 1}, "id": 1, "page": "/ö", **_EMPTY},
    {
        "k": {"n": 2},
        "id": 2**53,
        "page": None,
        "at": datetime(2026, 1, 2, 3, 4, 5, 678000, timezone.utc),
        "places": [{"x": 1.5, "y": None}, {"x": None, "y": 2.0}],
        "more": [("a", 1e300)],
    },
    {"k": {"n": 3}, "id": 3, "page": None, **_EMPTY},
]


def protos(client, folder):
    (key,) = messages(folder / "key", {"key.proto": PROTO_KEY}, "shop.Key")
    (old,) = messages(folder / "old", {"click.proto": OLD_PROTO}, "shop.Click")
    (new,) = messages(
        folder / "new", {"click.proto": NEW_PROTO, "shop/place.proto": PLACE_PROTO}, "shop.Click"
    )
    topic = Topic("foreign_protos")
    options = {"use.deprecated.format": False}
    keys, olds = ProtobufSerializer(key, client, options), ProtobufSerializer(old, client, options)
    topic.add(key(n=1), old(id=1, page="/ö"), keys, olds)
    client.set_compatibility("foreign_protos-value", level="NONE")
    news = ProtobufSerializer(new, client, options)
    click = new(id=-2, kind=1, number=2**64 - 1, counts={"a": -1})
    click.at.FromDatetime(datetime(2026, 1, 2, 3, 4, 5, 678901, timezone.utc))
    click.places.add(x=1.5)
    click.places.add(name="")
    topic.add(key(n=0), click, keys, news)
    topic.add(key(n=-3), old(), keys, olds)
    topic.add(key(n=4), new(name=""), keys, news)
    return topic


_NO = {"at": None, "kind": "UNKNOWN", "places": [], "counts": [], "name": None, "number": None}
PROTO_ROWS = [
    {"k": {"n": 1}, **_NO, "id": 1, "page": "/ö"},
    {
        "k": {"n": 0},
        "id": -2,
        "page": "",
        "kind": "TAP",
        "name": None,
        "number": Decimal(2**64 - 1),
        "at": datetime(2026, 1, 2, 3, 4, 5, 678901, timezone.utc),
        "places": [{"x": 1.5, "name": None}, {"x": 0.0, "name": ""}],
        "counts": [("a", -1)],
    },
    {"k": {"n": -3}, **_NO, "id": 0, "page": ""},
    {"k": {"n": 4}, **_NO, "id": 0, "page": "", "name": ""},
]
