"""`millstream schemas` against a real registry; what it holds was registered by Confluent's client."""

import json
import os

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from fastavro import parse_schema
from support.registry import needs_java

from millstream.formats.registry import WriterSchema, format_of
from millstream.kafka.topic_decoding import fields_of
from millstream.project.load import load_project

pytestmark = needs_java

ORDER = '{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}'
WIDER = '{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "at": {"type": "string", "format": "date-time"}}}'
MODEL = "select {columns} from {{{{ source('shop', '{topic}') }}}}\n"


def pinned(root, subject):
    return json.loads((root / f"schemas/registry/{subject}.json").read_text())


def test_from_a_missing_pin_to_a_compiled_model(run, shop, register, name):
    root = shop(f"name: {name}, schema: registry")
    (root / "models/m.sql").write_text(MODEL.format(columns="id + 1 as n", topic=name))
    first = register(f"{name}-value", ORDER)
    failed = run("compile", "--output", "json")
    (diagnostic,) = failed.json["diagnostics"]
    assert (failed.code, diagnostic["code"], diagnostic["line"]) == (2, "MS125", 4)
    assert "millstream schemas pull" in diagnostic["help"]
    assert "not pinned" in run("schemas", "ls").out
    pulled = run("schemas", "pull")
    assert (pulled.code, pulled.out) == (0, f"add schemas/registry/{name}-value.json\n1 subject pinned\n")
    pins = pinned(root, f"{name}-value")
    assert pins == {
        "subject": f"{name}-value",
        "compatibility": "BACKWARD",
        "versions": [{"version": 1, "id": first, "type": "JSON", "schema": json.loads(ORDER)}],
    }
    assert run("compile").code == 0
    assert run("schemas", "ls", "--output", "json").json["schemas"] == [
        {
            "source": f"shop.{name}",
            "topic": name,
            "format": "json",
            "file": None,
            "subject": f"{name}-value",
            "version": 1,
            "id": first,
            "versions": 1,
        }
    ]


def test_subjects_of_sinks_are_pinned_once_they_are_registered(run, shop, register, name):
    root = shop(f"name: {name}, columns: [{{name: id, type: bigint}}]")
    config = f"{{{{ config(materialized='sink', topic='{name}-out', framing='confluent') }}}}"
    (root / "models/m.sql").write_text(f"{config}\n{MODEL.format(columns='id', topic=name)}")
    assert run("schemas", "pull").out == "0 subjects pinned, no changes\n"
    (row,) = run("schemas", "ls", "--output", "json").json["schemas"]
    subject = f"{name}-out-value"
    assert (row["source"], row["subject"], row["id"]) == ("m", subject, None)
    first = register(subject, ORDER.replace("integer", "string"))
    assert run("schemas", "pull").out == f"add schemas/registry/{subject}.json\n1 subject pinned\n"
    (row,) = run("schemas", "ls", "--output", "json").json["schemas"]
    assert (row["version"], row["id"]) == (1, first)
    compiled = run("compile", "--output", "json").json
    assert {diagnostic["code"] for diagnostic in compiled["diagnostics"]} == {"MS128"}


def test_the_registry_moves_on(run, shop, register, server, name):
    subject = f"{name}-value"
    root = shop(f"name: {name}, schema: registry")
    register(subject, ORDER)
    run("schemas", "pull")
    before = (root / f"schemas/registry/{subject}.json").read_bytes()
    assert run("schemas", "pull", "--check").code == 0
    server.client.set_compatibility(subject, "NONE")
    second = register(subject, WIDER)
    checked = run("schemas", "pull", "--check")
    assert checked.code == 1
    assert checked.out.startswith(f"change schemas/registry/{subject}.json: new version 2\n")
    result = run("schemas", "pull", "--check", "--output", "json")
    assert result.code == 1
    assert result.json["changes"] == [
        {"subject": subject, "path": f"schemas/registry/{subject}.json", "state": "changed", "versions": [2]}
    ]
    assert (root / f"schemas/registry/{subject}.json").read_bytes() == before
    assert run("schemas", "pull").code == 0
    pins = pinned(root, subject)
    assert pins["compatibility"] == "NONE"
    assert [(version["version"], version["id"]) for version in pins["versions"]][1] == (2, second)
    assert run("schemas", "pull").out == "1 subject pinned, no changes\n"
    # A deleted version keeps its id, since records still have it; the columns are those of version 1 again.
    server.client.delete_version(subject, 2)
    assert run("schemas", "pull", "--check").code == 1
    run("schemas", "pull")
    assert [version.get("deleted", False) for version in pinned(root, subject)["versions"]] == [False, True]
    (row,) = run("schemas", "ls", "--output", "json").json["schemas"]
    assert (row["version"], row["versions"]) == (1, 2)


def test_references_are_pinned_too(run, shop, register, name):
    money, unit = f"{name}.Money", f"{name}.Unit"
    register(unit, '{"type": "object", "properties": {"code": {"type": "string"}}}')
    register(
        money,
        '{"definitions": {"n": {"type": "number"}}, "type": "object", "properties": '
        '{"amount": {"$ref": "#/definitions/n"}, "unit": {"$ref": "unit.json"}}}',
        "JSON",
        ("unit.json", unit, 1),
    )
    price = '{"type": "object", "properties": {"price": {"$ref": "money.json"}, "n": {"$ref": "money.json#/definitions/n"}}}'
    register(f"{name}-value", price, "JSON", ("money.json", money, 1))
    root = shop(f"name: {name}, schema: registry")
    (root / "models/m.sql").write_text(MODEL.format(columns="price.unit.code, n", topic=name))
    assert run("schemas", "pull", "--output", "json").json["subjects"] == sorted(
        [money, unit, f"{name}-value"]
    )
    assert pinned(root, f"{name}-value")["versions"][0]["references"] == [
        {"name": "money.json", "subject": money, "version": 1}
    ]
    assert run("compile").code == 0, run("compile").err
    manifest = json.loads((root / "target/manifest.json").read_text())
    columns = {column["name"]: column["type"] for column in manifest["nodes"]["model.m"]["columns"]}
    assert columns == {"code": "string", "n": "double"}


def test_strategies_and_versions(run, shop, register, name):
    record = f"com.{name}.Order"
    register(record, ORDER)
    register(f"kafka.{name}-{record}", WIDER)
    shop(
        f"name: a, topic: kafka.{name}, schema: {{strategy: topic_record_name, record: {record}}}",
        f"name: b, topic: kafka.{name}, schema: {{strategy: record_name, record: {record}}}",
        f"name: c, schema: {{subject: {record}, version: 1}}",
        f"name: d, schema: {{subject: {record}, version: 7}}",
    )
    assert run("schemas", "pull").code == 0
    rows = run("schemas", "ls", "--output", "json").json["schemas"]
    assert [(row["source"], row["subject"], row["version"]) for row in rows] == [
        ("shop.a", f"kafka.{name}-{record}", 1),
        ("shop.b", record, 1),
        ("shop.c", record, 1),
        ("shop.d", record, 7),
    ]
    (diagnostic,) = run("compile", "--output", "json").json["diagnostics"]
    assert diagnostic["code"] == "MS125"
    assert "another version: 1" in diagnostic["help"]


def test_subjects_that_do_not_exist(run, shop, name):
    root = shop(f"name: {name}, schema: registry", f"name: other, schema: {{subject: {name}/x}}")
    failed = run("schemas", "pull", "--output", "json")
    assert failed.code == 2
    assert [(diagnostic["code"], diagnostic["line"]) for diagnostic in failed.json["diagnostics"]] == [
        ("MS893", 4),
        ("MS893", 5),
    ]
    assert not (root / "schemas").exists()


def test_a_file_that_no_topic_uses_is_removed(run, shop, register, name):
    root = shop(f"name: {name}, schema: {{subject: '{name}/a b'}}")
    register(f"{name}/a b", ORDER)
    run("schemas", "pull")
    assert [file.name for file in (root / "schemas/registry").iterdir()] == [f"{name}%2Fa%20b.json"]
    (root / "models/s.yml").write_text("sources: []\n")
    assert run("schemas", "pull", "--check").code == 1
    assert run("schemas", "pull").out.startswith("remove schemas/registry/")
    assert list((root / "schemas/registry").iterdir()) == []


def test_show(run, shop, register, name):
    shop(f"name: {name}, schema: registry")
    result = run("schemas", "show", str(register(f"{name}-value", ORDER)))
    assert json.loads(result.out) == json.loads(ORDER)
    unknown = run("schemas", "show", "99999999")
    assert unknown.code == 2
    assert "MS893" in unknown.err


@pytest.mark.parametrize("arguments", [("show",), ("ls", "3"), ("ls", "--check")])
def test_options_that_do_not_fit(run, shop, arguments):
    shop("name: t, schema: registry")
    assert run("schemas", *arguments).code == 2


def test_other_types_than_json(run, shop, register, name):
    register(
        f"{name}a-value", '{"type": "record", "name": "R", "fields": [{"name": "x", "type": "long"}]}', "AVRO"
    )
    root = shop(f"name: {name}a, schema: registry, format: json")
    assert run("schemas", "pull").code == 0
    assert pinned(root, f"{name}a-value")["versions"][0]["type"] == "AVRO"
    (diagnostic,) = run("compile", "--output", "json").json["diagnostics"]
    assert diagnostic["code"] == "MS126"


def test_the_local_target_joins_the_running_registry(run, server, register, name, monkeypatch):
    """The project of the registry itself names no URL."""
    monkeypatch.chdir(server.root)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    (server.root / "models").mkdir(exist_ok=True)
    (server.root / "models/s.yml").write_text(
        f"sources: [{{name: s, topics: [{{name: {name}, schema: registry}}]}}]\n"
    )
    register(f"{name}-value", ORDER)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # not for this machine
    assert run("schemas", "pull").code == 0
    assert "no_proxy" not in os.environ
    status = run("broker", "status", "--output", "json").json["registry"]
    assert (status["state"], status["url"], status["used"]) == ("running", server.url, True)
    assert run("compile").code == 0


MONEY = '{"type": "record", "name": "Money", "namespace": "com.shop", "fields": [{"name": "amount", "type": "double"}]}'
AVRO = """{"type": "record", "name": "Order", "namespace": "com.shop", "fields": [{"name": "id", "type": "long"},
 {"name": "price", "type": "Money"}, {"name": "tax", "type": ["null", "com.shop.Money"], "default": null}%s]}"""


def test_avro_with_references_and_the_schema_of_every_writer(run, shop, register, server, name):
    money = f"{name}.Money"
    register(money, MONEY, "AVRO")
    refer = ("com.shop.Money", money, 1)
    first = register(f"{name}-value", AVRO % "", "AVRO", refer)
    second = register(
        f"{name}-value", AVRO % ', {"name": "note", "type": "string", "default": "none"}', "AVRO", refer
    )
    root = shop(f"name: {name}, schema: registry")
    (root / "models/m.sql").write_text(
        MODEL.format(columns="id, price.amount, tax.amount as tax, note", topic=name)
    )
    assert run("schemas", "pull").code == 0
    assert run("compile").code == 0, run("compile").err
    topic = load_project(root, None, None, None).sources[f"shop.{name}"]
    encoding = topic.format
    assert (encoding.name, encoding.framing, encoding.schema_id) == ("avro", "confluent", second)
    assert [writer.id for writer in encoding.writers] == sorted([first, second])
    for writer in encoding.writers:
        parse_schema(json.loads(writer.schema))  # fastavro's, without any other schema
    # A record of Confluent's serializer, written by the older schema.
    older = Schema(AVRO % "", "AVRO", [SchemaReference(*refer)])
    serializer = AvroSerializer(server.client, older, conf={"auto.register.schemas": False})
    value = {"id": 7, "price": {"amount": 1.5}, "tax": None}
    record = serializer(value, SerializationContext(name, MessageField.VALUE))
    assert int.from_bytes(record[1:5], "big") == first
    row = format_of(encoding).local.decode(record, fields_of(topic))
    assert row == {**value, "note": "none"}


PROTO = """syntax = "proto3";
package shop;
import "money.proto";
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1;
  Money price = 2;
  google.protobuf.Timestamp at = 3;
}
"""


def test_protobuf_with_imports(run, shop, register, name):
    register(
        f"{name}.money",
        'syntax = "proto3";\npackage shop;\nmessage Money {\n  double amount = 1;\n}\n',
        "PROTOBUF",
    )
    id_ = register(f"{name}-value", PROTO, "PROTOBUF", ("money.proto", f"{name}.money", 1))
    root = shop(f"name: {name}, schema: registry")
    (root / "models/m.sql").write_text(MODEL.format(columns="id, price.amount, at", topic=name))
    assert run("schemas", "pull").code == 0
    assert pinned(root, f"{name}-value")["versions"][0]["lines"] == PROTO.split("\n")
    assert run("compile").code == 0, run("compile").err
    encoding = load_project(root, None, None, None).sources[f"shop.{name}"].format
    assert (encoding.name, encoding.message, encoding.schema_id, encoding.writers) == (
        "protobuf",
        "shop.Order",
        id_,
        (WriterSchema(id_, "0"),),
    )


def test_check_compares_the_newest_version_with_the_pinned_one(run, shop, register, server, name):
    subject = f"{name}-value"
    shop(f"name: {name}, schema: registry")
    register(subject, ORDER)
    assert run("schemas", "check").code == 2
    run("schemas", "pull")
    assert run("schemas", "check").out == f"{subject}: version 1 is pinned, and the newest\n"
    server.client.set_compatibility(subject, "NONE")
    register(subject, ORDER.replace("integer", "number"))
    result = run("schemas", "check")
    assert result.code == 1
    assert result.out.splitlines() == [
        f"{subject}: version 1 is pinned, version 2 is the newest",
        "  field id: it is an integer in the old schema, but any number in the new one, so old readers can't read new records",
    ]
    (row,) = run("schemas", "check", "--output", "json").json["subjects"]
    assert (row["pinned"], row["newest"], row["compatibility"]) == (1, 2, "NONE")
    assert [(finding["path"], finding["direction"], finding["rule"]) for finding in row["findings"]] == [
        ("id", "forward", "type_narrowed")
    ]
    register(subject, ORDER.replace('"required": ["id"], ', ""))
    run("schemas", "pull")
    assert run("schemas", "check").code == 0
