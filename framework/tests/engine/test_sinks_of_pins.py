"""Sinks that write what the registry has: `schema='registry'`, with keys that are not in values."""

import json

import pytest
from click.testing import CliRunner
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from support.registry import needs_java
from support.runs import built, errors, received, table_rows
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.core.errors import MillstreamError

pytestmark = [needs_java, SPARK_WARNINGS]

SELECT = "select coalesce(user, '') as user, coalesce(cast(id as bigint), 0) as id, kind from {{ source('web', 'events') }}"
FIRST = {"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}
SECOND = FIRST | {
    "fields": [
        {"name": "kind", "type": ["null", "string"], "default": None},
        {"name": "level", "type": "int", "default": 3},
        *FIRST["fields"],
    ]
}
OBJECT = {
    "title": "Event",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "kind": {"type": "string"}},
    "additionalProperties": False,
}


def sink(shop, name, sql=SELECT, **options):
    config = ", ".join(f"{key}={value!r}" for key, value in options.items())
    shop.model(name, f"{{{{ config(materialized='sink', schema='registry', key='user', {config}) }}}} {sql}")


def cli(shop, monkeypatch, *arguments):
    monkeypatch.chdir(shop.root)
    result = CliRunner().invoke(millstream, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def register(registry, subject, schema, kind="AVRO"):
    return registry.register_schema(subject, Schema(json.dumps(schema), kind))


def ids(records):
    return {int.from_bytes(record.value()[1:5], "big") for record in records}


def test_what_the_registry_has_is_written_under_its_id(shop, registry, first_spark, monkeypatch):
    register(registry, "pinned_avros-value", FIRST)
    second = register(registry, "pinned_avros-value", SECOND)
    key = register(registry, "pinned_avros-key", "string")
    of_json = register(registry, "of pinned jsons", OBJECT, "JSON")
    sink(shop, "pinned_avros", key_schema="registry")
    sink(shop, "pinned_jsons", subject="of pinned jsons")
    # Without optimization, the copies read the topics themselves.
    config = "{{ config(materialized='table', unique_key='id', optimize='none') }}"
    for name in ("pinned_avros", "pinned_jsons"):
        shop.model(f"copy_of_{name}", f"{config} select * from {{{{ ref('{name}') }}}}")
    pulled = cli(shop, monkeypatch, "schemas", "pull")
    assert pulled.splitlines()[-1] == "3 subjects pinned"
    # A newer version is not what is written, until it is pinned.
    third = register(
        registry,
        "pinned_avros-value",
        SECOND | {"fields": [*SECOND["fields"], {"name": "more", "type": "int", "default": 0}]},
    )
    shop.send(("a", {"id": 1, "kind": "x"}), ("ö", {"id": 2}))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    records = received(shop.bootstrap, "pinned_avros")
    assert (ids(records), ids(received(shop.bootstrap, "pinned_jsons"))) == ({second}, {of_json})
    assert second != third
    assert {int.from_bytes(record.key()[1:5], "big") for record in records} == {key}
    read, read_key = AvroDeserializer(registry), AvroDeserializer(registry)
    value, key_of = (
        SerializationContext("pinned_avros", part) for part in (MessageField.VALUE, MessageField.KEY)
    )
    rows_by_key = {read_key(record.key(), key_of): read(record.value(), value) for record in records}
    assert rows_by_key == {"a": {"kind": "x", "level": 3, "id": 1}, "ö": {"kind": None, "level": 3, "id": 2}}
    of_jsons = JSONDeserializer(json.dumps(OBJECT), schema_registry_client=registry)
    values = [of_jsons(record.value(), value) for record in received(shop.bootstrap, "pinned_jsons")]
    assert sorted(values, key=lambda row: row["id"]) == [{"id": 1, "kind": "x"}, {"id": 2}]
    expected = [{"user": "a", "id": 1, "kind": "x"}, {"user": "ö", "id": 2, "kind": None}]
    for name in ("pinned_avros", "pinned_jsons"):
        copied = table_rows(shop.root, f"model.copy_of_{name}")
        assert sorted(copied, key=lambda row: row["id"]) == expected
    shown = cli(shop, monkeypatch, "consume", "pinned_avros", "--from-beginning", "--output", "json")
    consumed = [json.loads(line) for line in shown.splitlines()]
    assert sorted((record["key"], record["value"]["kind"]) for record in consumed) == [
        ("a", "x"),
        ("ö", None),
    ]


def test_a_pin_that_is_not_the_registrys(shop, registry, first_spark, monkeypatch):
    schema_id = register(registry, "mispinned-value", SECOND)
    sink(shop, "mispinned")
    cli(shop, monkeypatch, "schemas", "pull")
    pin = shop.root / "schemas/registry/mispinned-value.json"
    pin.write_text(pin.read_text().replace(f'"id": {schema_id},', f'"id": {schema_id + 1000},'))
    with pytest.raises(MillstreamError) as raised:
        built(shop.root, first_spark)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS893", "models/mispinned.sql")
    assert diagnostic.message.startswith(
        f"version 1 of subject 'mispinned-value' is pinned with the id {schema_id + 1000}, and has the id {schema_id} at"
    )
    assert diagnostic.help == "pin what the target's registry has: run `millstream schemas pull`"
    # A version that is pinned, but not registered.
    pin.write_text(pin.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(
        MillstreamError, match=r"MS893: .* does not have version 2 of subject 'mispinned-value'"
    ):
        built(shop.root, first_spark)
