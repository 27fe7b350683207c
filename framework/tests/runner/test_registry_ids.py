"""Records whose schemas only the registry knows, since they were registered after the last pull."""

import io
import json

import fastavro
from click.testing import CliRunner
from confluent_kafka.schema_registry import Schema, SchemaReference
from support.registry import needs_java
from support.runs import built, create_topics, headers, problems, received, send
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream

pytestmark = [needs_java, SPARK_WARNINGS]

SUBJECT = "orders-value"
FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
PLACE = {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}
SECOND = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "places", "type": {"type": "array", "items": "Place"}, "default": []},
        {"name": "id", "type": "int"},
    ],
}


def record(schema_id, row, *schemas):
    """Return a record with the id of its schema, which is the last; it refers to those before."""
    named = {}
    parsed = [fastavro.parse_schema(each, named) for each in schemas]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed[-1], row)
    return b"\0" + schema_id.to_bytes(4, "big") + out.getvalue()


def test_a_schema_that_is_registered_after_the_last_pull_is_fetched(shop, registry, first_spark, monkeypatch):
    topic = "{name: orders, schema: registry, on_bad_record: dead_letter}"
    shop.write("models/web.yml", f"sources: [{{name: web, topics: [{topic}]}}]")
    shop.model("copy", "{{ config(materialized='sink') }} select id from {{ source('web', 'orders') }}")
    first = registry.register_schema(SUBJECT, Schema(json.dumps(FIRST), "AVRO"))
    monkeypatch.chdir(shop.root)
    pulled = CliRunner().invoke(millstream, ["schemas", "pull"])
    assert pulled.exit_code == 0, pulled.output
    old = record(first, {"id": 1}, FIRST)
    registry.register_schema("place", Schema(json.dumps(PLACE), "AVRO"))
    reference = SchemaReference("Place", "place", 1)
    second = registry.register_schema(SUBJECT, Schema(json.dumps(SECOND), "AVRO", [reference]))
    new = record(second, {"id": 2, "places": [{"city": "Rome"}]}, PLACE, SECOND)
    unknown = b"\0\0\0\x27\x0f\x02"
    create_topics(shop.bootstrap, "orders")
    send(shop.bootstrap, {"orders": [("a", old), ("b", new), ("c", unknown), ("d", old)]})
    _, told = built(shop.root, first_spark)
    assert problems(told) == []
    assert sorted(each["id"] for each in shop.values("copy")) == [1, 1, 2]
    (letter,) = received(shop.bootstrap, "orders.dead_letter")
    assert (letter.value(), headers(letter)["millstream.reason"]) == (unknown, "unknown schema id 9999")
