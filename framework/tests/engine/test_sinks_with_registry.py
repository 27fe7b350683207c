"""Sinks whose records have the ids of schemas that they register, read by Confluent's own deserializers."""

import json

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from support.registry import needs_java
from support.runs import built, errors, received, table_rows
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.core.errors import MillstreamError
from millstream.formats.protobuf.compiler import compile_protos

pytestmark = [needs_java, SPARK_WARNINGS]

SELECT = "select cast(id as bigint) as id, kind, named_struct('a', value) as more from {{ source('web', 'events') }}"
MONEY = 'syntax = "proto3"; package shop; message Money { optional double a = 1; }'
CLICK = """
syntax = "proto3";
package shop;
import "shop/money.proto";
message Other { int32 x = 1; }
message Click { optional int64 id = 1; optional string kind = 2; Money more = 3; }
"""
ROWS = [{"id": 1, "kind": "x", "more": {"a": 1.5}}, {"id": 2, "kind": "ö", "more": {"a": -2.0}}]


def sink(shop, name, sql=SELECT, **options):
    config = ", ".join(f"{key}={value!r}" for key, value in options.items())
    shop.model(name, f"{{{{ config(materialized='sink', framing='confluent', {config}) }}}} {sql}")


def send_rows(shop, rows=ROWS):
    shop.send(*(("k", {"id": row["id"], "kind": row["kind"], "value": row["more"]["a"]}) for row in rows))


def topics(shop):
    return AdminClient({"bootstrap.servers": shop.bootstrap}).list_topics(timeout=10).topics


def by_id(rows):
    return sorted(rows, key=lambda row: row["id"])


def read(shop, topic, deserializer, field=MessageField.VALUE):
    records = received(shop.bootstrap, topic)
    context = SerializationContext(topic, field)
    return [
        deserializer(record.value() if field == MessageField.VALUE else record.key(), context)
        for record in records
    ]


def schema_id(record):
    assert record[0] == 0
    return int.from_bytes(record[1:5], "big")


def cli(shop, monkeypatch, *arguments):
    monkeypatch.chdir(shop.root)
    result = CliRunner().invoke(millstream, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_other_software_reads_what_sinks_write(shop, registry, first_spark, monkeypatch, tmp_path):
    shop.write("schemas/shop/money.proto", MONEY)
    shop.write("schemas/shop/click.proto", CLICK)
    sink(shop, "avros", format="avro", key=["id", "kind"], key_format="avro", key_framing="confluent")
    sink(shop, "jsons", key="id", key_format="json", key_framing="confluent", subject="of jsons")
    sink(shop, "protos", format="protobuf", schema="schemas/shop/click.proto", message="shop.Click")
    shop.model("copy", "{{ config(materialized='table', unique_key='id') }} select * from {{ ref('avros') }}")
    send_rows(shop)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert by_id(read(shop, "avros", AvroDeserializer(registry))) == ROWS
    keys = read(shop, "avros", AvroDeserializer(registry), MessageField.KEY)
    assert by_id(keys) == [{"id": row["id"], "kind": row["kind"]} for row in ROWS]
    text = registry.get_latest_version("of jsons").schema.schema_str
    assert by_id(read(shop, "jsons", JSONDeserializer(text, schema_registry_client=registry))) == ROWS
    assert sorted(json.loads(record.key()[5:]) for record in received(shop.bootstrap, "jsons")) == [1, 2]
    assert [
        reference.subject for reference in registry.get_latest_version("protos-value").schema.references
    ] == ["shop/money.proto"]
    assert by_id(protos(shop)) == ROWS
    assert by_id(table_rows(shop.root, "model.copy")) == ROWS
    for topic in ("avros", "jsons", "protos"):
        shown = cli(shop, monkeypatch, "consume", topic, "--from-beginning", "--output", "json")
        assert by_id(json.loads(line)["value"] for line in shown.splitlines()) == ROWS


def protos(shop):
    """Return the rows of a topic, by the protobuf runtime alone."""
    files = descriptor_pb2.FileDescriptorSet.FromString(
        compile_protos(["shop/click.proto"], [shop.root / "schemas"])
    ).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    click = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Click"))
    rows = []
    for record in received(shop.bootstrap, "protos"):
        value = record.value()
        assert value[5:7] == bytes([2, 2])  # one index, which is 1: it is the second message
        message = click.FromString(value[7:])
        rows.append({"id": message.id, "kind": message.kind, "more": {"a": message.more.a}})
    return rows


def test_what_the_registry_refuses_leaves_topic_and_subject_as_they_were(
    shop, registry, first_spark, monkeypatch
):
    shop.write("schemas/shop/money.proto", MONEY)
    shop.write("schemas/shop/click.proto", CLICK)
    sink(shop, "refused", format="avro")
    sink(shop, "renamed", format="protobuf", schema="schemas/shop/click.proto", message="shop.Click")
    send_rows(shop)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    registry.set_compatibility("refused-value", level="BACKWARD")
    sink(shop, "refused", SELECT.replace("as bigint", "as string"), format="avro")
    # Apicurio's rules are stricter than Confluent's, which `compile` applies to pinned schemas.
    cli(shop, monkeypatch, "schemas", "pull", "--quiet")
    (shop.root / "schemas/registry/refused-value.json").unlink()
    shop.write("schemas/shop/click.proto", CLICK.replace("int64 id", "int64 number"))
    sink(
        shop, "renamed", SELECT.replace("as id", "as number"),
        format="protobuf", schema="schemas/shop/click.proto", message="shop.Click",
    )  # fmt: skip
    send_rows(shop)
    with pytest.raises(MillstreamError) as raised:
        built(shop.root, first_spark)
    assert sorted((diagnostic.code, diagnostic.location.path) for diagnostic in raised.value.diagnostics) == [
        ("MS897", "models/refused.sql"),
        ("MS897", "models/renamed.sql"),
    ]
    for name in ("refused", "renamed"):
        assert registry.get_versions(f"{name}-value") == [1]
        assert len(received(shop.bootstrap, name)) == 2


def test_records_of_an_old_and_a_new_schema_are_read_together(shop, registry, first_spark, monkeypatch):
    sink(shop, "clicks", format="avro")
    send_rows(shop, ROWS[:1])
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    sink(shop, "clicks", SELECT.replace("kind", "kind, id = 2 as second"), format="avro")
    # Without optimization, the copy reads the topic itself.
    config = "{{ config(materialized='table', unique_key='id', optimize='none') }}"
    shop.model("copy", config + " select * from {{ ref('clicks') }}")
    send_rows(shop, ROWS[1:])
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert len({schema_id(record.value()) for record in received(shop.bootstrap, "clicks")}) == 2
    expected = [ROWS[0] | {"second": None}, ROWS[1] | {"second": True}]
    assert by_id(table_rows(shop.root, "model.copy")) == expected
    shown = cli(shop, monkeypatch, "consume", "clicks", "--from-beginning", "--output", "json")
    assert by_id(json.loads(line)["value"] for line in shown.splitlines()) == expected


def test_without_registering_the_schema_must_be_there(shop, registry, first_spark):
    url = registry._rest_client.base_urls[0]
    shop.write(
        "profiles.yml",
        f"shop: {{target: local, outputs: {{local: {{master: 'local[2]', kafka: embedded, "
        f"schema_registry: {{url: '{url}', register: false}}}}}}}}\n",
    )
    sink(shop, "unregistered", format="avro")
    send_rows(shop)
    with pytest.raises(MillstreamError) as raised:
        built(shop.root, first_spark)
    assert [(diagnostic.code, diagnostic.location.path) for diagnostic in raised.value.diagnostics] == [
        ("MS893", "models/unregistered.sql")
    ]
    assert "unregistered" not in topics(shop)
