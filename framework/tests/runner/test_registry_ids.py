"""Records whose schemas only the registry knows, since they were registered after the last pull."""

import io
import json
from contextlib import closing

import fastavro
import pytest
from click.testing import CliRunner
from confluent_kafka.schema_registry import Schema, SchemaReference
from pyspark.errors import PySparkException
from support.registry import gateway, needs_java
from support.runs import built, create_topics, headers, problems, received, send
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.registry.settings import Address
from millstream.runner.spark.registry import UsedRegistry, use_registry
from millstream.testing.session import TestSession

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
    tests = "tests: [{row_count: {equals: 3}}]"
    shop.write(
        "models/web.yml",
        f"sources: [{{name: web, topics: [{topic[:-1]}, {tests}}}]}}]\nmodels: [{{name: framed, {tests}}}]",
    )
    shop.model("copy", "{{ config(materialized='sink') }} select id from {{ source('web', 'orders') }}")
    shop.model(
        "framed",
        "{{ config(materialized='sink', format='avro', framing='confluent') }} select id from {{ source('web', 'orders') }}",
    )
    first = registry.register_schema(SUBJECT, Schema(json.dumps(FIRST), "AVRO"))
    monkeypatch.chdir(shop.root)
    pulled = CliRunner().invoke(millstream, ["schemas", "pull"])
    assert pulled.exit_code == 0, pulled.output
    old = record(first, {"id": 1}, FIRST)
    registry.register_schema("place", Schema(json.dumps(PLACE), "AVRO"))
    reference = SchemaReference("Place", "place", 1)
    second = registry.register_schema(SUBJECT, Schema(json.dumps(SECOND), "AVRO", [reference]))
    new = record(second, {"id": 2, "places": [{"city": "Rome"}]}, PLACE, SECOND)
    other = registry.register_schema("other", Schema('{"type": "object", "properties": {}}', "JSON"))
    bad = {
        b"\0\0\0\x27\x0f\x02": "unknown schema id 9999",
        record(other, {"id": 1}, FIRST): f"the schema of id {other} is JSON, not AVRO",
    }
    create_topics(shop.bootstrap, "orders")
    send(shop.bootstrap, {"orders": [("a", old), ("b", new), *(("c", each) for each in bad), ("d", old)]})
    _, told = built(shop.root, first_spark, tests=False)
    assert problems(told) == []
    assert sorted(each["id"] for each in shop.values("copy")) == [1, 1, 2]
    letters = received(shop.bootstrap, "orders.dead_letter")
    assert {each.value(): headers(each)["millstream.reason"] for each in letters} == bad
    # Another process, such as that of `millstream test`, knows no registry before it reads.
    use_registry(first_spark, UsedRegistry())
    with closing(TestSession(shop.root)) as session:
        names = [each.id for each in session.nodes.values() if each.kind == "test"]
        assert [session.data_tests.run(session.nodes[each]).failures for each in names] == [0, 0]


MISTAKEN = {
    "a page": (200, b"<html>Login</html>"),
    "something else": (200, b'{"message": "hello"}'),
    "no text": (200, b'{"schema": null}'),
}
INVALID = {
    "a type that is not defined": '{"type": "record", "name": "r", "fields": [{"name": "id", "type": "Missing"}]}',
    "not Avro": '{"type": "object"}',
    "cut off": '{"type": "recor',
}


def test_only_a_schema_is_taken_for_one(first_spark):
    schema = '{"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}]}'
    call = f"decode_avro(unhex('000000000702'), 'id int', '{schema}', 'confluent', '{{}}')"

    def read(answer):
        with gateway("", answer=answer) as url:
            use_registry(first_spark, UsedRegistry(Address(url)))
            return first_spark.sql(f"select {call} as found").first()["found"].asDict()

    for answer in MISTAKEN.values():
        with pytest.raises(PySparkException, match=r"the schema registry at .* does not answer"):
            read(answer)
    for text in INVALID.values():
        row = read((200, json.dumps({"schema": text}).encode()))
        assert row["_bad"].startswith("the writer's schema is not valid")
    assert read((200, json.dumps({"schema": schema}).encode())) == {"id": 1, "_bad": None}
    use_registry(first_spark, UsedRegistry())
