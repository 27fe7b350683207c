"""Records whose schemas only the registry knows, since they were registered after the last pull."""

import io
import json
import subprocess
from contextlib import closing

import fastavro
import pytest
from click.testing import CliRunner
from confluent_kafka.schema_registry import Schema, SchemaReference
from pyspark.errors import PySparkException
from support.bad_columns import plain
from support.registry import certificate_in, gateway, needs_java
from support.runs import built, create_topics, errors, headers, job_of, received, send
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.engine.spark.registry import UsedRegistry, use_registry, used_registry
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.registry.settings import RegistryAddress
from millstream.project.pins import Subject, encode_subject, version_of
from millstream.project.secrets import Secret
from millstream.queries.topology import with_ancestors
from millstream.runner.samples.compute import SampleRequest, compute_rows
from millstream.testing.session import TestSession

pytestmark = [needs_java, SPARK_WARNINGS]

SUBJECT = "orders-value"
FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
PLACE_SCHEMA = {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}
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
    parsed = [fastavro.parse_schema(schema, named) for schema in schemas]
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
    registry.register_schema("place", Schema(json.dumps(PLACE_SCHEMA), "AVRO"))
    reference = SchemaReference("Place", "place", 1)
    second = registry.register_schema(SUBJECT, Schema(json.dumps(SECOND), "AVRO", [reference]))
    new = record(second, {"id": 2, "places": [{"city": "Rome"}]}, PLACE_SCHEMA, SECOND)
    other = registry.register_schema("other", Schema('{"type": "object", "properties": {}}', "JSON"))
    bad = {
        b"\0\0\0\x27\x0f\x02": "unknown schema id 9999",
        record(other, {"id": 1}, FIRST): f"the schema of id {other} is JSON, not AVRO",
    }
    create_topics(shop.bootstrap, "orders")
    send(shop.bootstrap, {"orders": [("a", old), ("b", new), *(("c", value) for value in bad), ("d", old)]})
    _, events = built(shop.root, first_spark, tests=False)
    assert errors(events) == []
    assert sorted(row["id"] for row in shop.values("copy")) == [1, 1, 2]
    letters = received(shop.bootstrap, "orders.dead_letter")
    assert {letter.value(): headers(letter)["millstream.reason"] for letter in letters} == bad
    # Another process, such as that of `millstream test`, knows no registry before it reads.
    use_registry(first_spark, UsedRegistry())
    with closing(TestSession(shop.root)) as session:
        names = [node.id for node in session.nodes.values() if node.kind == "test"]
        assert [session.data_tests.run(session.nodes[name]).failures for name in names] == [0, 0]


UNREACHABLE = """
shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, schema_registry: {url: 'http://127.0.0.1:1'}}}}
"""


def test_without_a_registry_pinned_schemas_are_enough(shop, first_spark, monkeypatch):
    shop.write("profiles.yml", UNREACHABLE)
    topic = "{name: orders, schema: registry, tests: [{row_count: {equals: 1}}]}"
    shop.write("models/web.yml", f"sources: [{{name: web, topics: [{topic}]}}]")
    shop.write(
        f"schemas/registry/{SUBJECT}.json",
        encode_subject(Subject(SUBJECT, "NONE", (version_of(1, 7, "AVRO", json.dumps(FIRST)),))),
    )
    shop.model("orders_seen", "select id from {{ source('web', 'orders') }}")
    monkeypatch.chdir(shop.root)
    create_topics(shop.bootstrap, "orders")

    def shown():
        job = job_of(shop.root)
        catalog = with_ancestors(job.catalog, frozenset({NodeId("model", "orders_seen")}))
        question = SampleRequest(job.project, catalog, NodeId("model", "orders_seen"), 10, 100, "spark.log")
        with used_registry(job.project, catalog, ()) as registry_in_use:
            use_registry(first_spark, registry_in_use)
            return compute_rows(question, admin_of(Cluster(shop.bootstrap, embedded=True)), first_spark).rows

    def tested():
        with closing(TestSession(shop.root)) as session:
            (test,) = [node for node in session.nodes.values() if node.kind == "test"]
            return session.data_tests.run(test).failures

    def consumed():
        done = CliRunner().invoke(millstream, ["show", "web.orders", "--output", "json"])
        return done.exit_code, json.loads(done.output)

    send(shop.bootstrap, {"orders": [("a", record(7, {"id": 1}, FIRST))]})
    assert (shown(), tested()) == ([(1,)], 0)
    assert consumed()[0] == 0
    send(shop.bootstrap, {"orders": [("a", record(8, {"id": 2}, FIRST))]})
    for read in (shown, tested):
        with pytest.raises(MillstreamError, match=r"registry at .* does not answer") as raised:
            read()
        (diagnostic,) = raised.value.diagnostics
        assert (diagnostic.code, diagnostic.location.path) == ("MS891", "profiles.yml")
    code, answer = consumed()
    assert (code, [diagnostic["code"] for diagnostic in answer["diagnostics"]]) == (2, ["MS891"])
    use_registry(first_spark, UsedRegistry())


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
            use_registry(first_spark, UsedRegistry(RegistryAddress(url)))
            return plain(first_spark.sql(f"select {call} as found").first()["found"].asDict())

    for answer in MISTAKEN.values():
        with pytest.raises(PySparkException, match=r"the schema registry at .* does not answer"):
            read(answer)
    for text in INVALID.values():
        row = read((200, json.dumps({"schema": text}).encode()))
        assert row["_bad"].startswith("the writer's schema is not valid")
    assert read((200, json.dumps({"schema": schema}).encode())) == {"id": 1, "_bad": None}
    use_registry(first_spark, UsedRegistry())


def test_functions_log_in_as_the_target_says(first_spark, tmp_path):
    schema = '{"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}]}'
    call = f"decode_avro(unhex('000000000902'), 'id int', '{schema}', 'confluent', '{{}}')"
    cert, key = certificate_in(tmp_path)
    locked = tmp_path / "locked.pem"
    password = ("-aes256", "-passout", "pass:hidden")
    subprocess.run(["openssl", "rsa", "-in", key, "-out", locked, *password], check=True, capture_output=True)
    answer = (200, json.dumps({"schema": schema}).encode())
    tls_settings = {
        "ca": str(cert),
        "certificate": str(cert),
        "key": str(locked),
        "key_password": Secret("hidden"),
    }

    def read(url, settings):
        use_registry(first_spark, UsedRegistry(RegistryAddress(url, {"url": url, **settings})))
        return first_spark.sql(f"select {call} as found").first()["found"]["id"]

    with gateway("", answer=answer, login="ann:p@ss", tls=(cert, key)) as url:
        named = url.replace("https://", "https://ann:p%40ss@")
        assert read(named, tls_settings) == 1
        wrong = {**tls_settings, "username": "ann", "password": Secret("no")}
        for number, (login, message) in enumerate(
            (({"ca": str(cert)}, "does not answer"), (wrong, "HTTP 401"))
        ):
            with pytest.raises(PySparkException, match=f"registry at 127.0.0.1:[0-9]+.*{message}"):
                # Functions remember schemas by the address that is asked first.
                read(f"http://127.0.0.1:1/{number},{url}", login)
        # The second of two registries is asked if the first does not answer.
        assert (
            read(
                f"http://127.0.0.1:1, {url}", {**tls_settings, "username": "ann", "password": Secret("p@ss")}
            )
            == 1
        )
    use_registry(first_spark, UsedRegistry())
