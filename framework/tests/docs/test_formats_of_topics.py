"""AsyncAPI, the manifest and `explain` say how records are encoded, and where their schemas are."""

import json

import pytest
from cli.conftest import run as run  # noqa: PLC0414 - a fixture
from cli.conftest import write

from millstream.project.pins import Subject, encode_subject, version_of

AVRO = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
PROTO = 'syntax = "proto3"; package shop; message Order { int64 id = 1; }'
TOPICS = """
sources:
  - name: web
    topics:
      - {name: orders, schema: registry, key: {name: number, format: avro, schema: {subject: numbers}}}
      - {name: payments, format: avro, schema: schemas/order.avsc, key: {name: number, format: long}}
      - {name: lines, format: csv, format_options: {delimiter: ";"}, columns: [{name: id, type: bigint}]}
"""
SINKS = {
    "bills": ("orders", "format='avro', framing='confluent', key='id', key_format='avro', key_framing='confluent'"),
    "parcels": ("payments", "format='protobuf', schema='schemas/order.proto', framing='confluent', subject='shop.Order'"),
    "rows": ("lines", "format='csv', key='id'"),
    "events": ("lines", "key='id'"),
}  # fmt: skip


def pinned(subject, number, schema):
    version = version_of(1, number, "AVRO", json.dumps(schema))
    return {f"schemas/registry/{subject}.json": encode_subject(Subject(subject, "FULL", (version,)))}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    models = {
        f"models/{name}.sql": f"{{{{ config(materialized='sink', {options}) }}}}\n"
        f"select id from {{{{ source('web', '{topic}') }}}} where id > 0\n"
        for name, (topic, options) in SINKS.items()
    }
    root = write(
        tmp_path,
        {
            "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
            "models/web.yml": TOPICS,
            "schemas/order.avsc": json.dumps(AVRO),
            "schemas/order.proto": PROTO,
            **pinned("orders-value", 7, AVRO),
            **pinned("numbers", 8, "long"),
            **models,
        },
    )
    monkeypatch.chdir(root)
    return root


def test_asyncapi(run, shop):
    messages = run("docs", "generate", "--format", "asyncapi").json["components"]["messages"]
    words = {
        name.rpartition("_")[2]: {
            key: value for key, value in message.items() if key.startswith("x-") or key == "contentType"
        }
        for name, message in messages.items()
    }
    avro, long = "application/vnd.apache.avro", "application/octet-stream"
    assert words == {
        "orders": {
            "contentType": avro, "x-schema-subject": "orders-value",
            "x-key-content-type": avro, "x-key-schema-subject": "numbers",
        },
        "payments": {"contentType": avro, "x-schema": "schemas/order.avsc", "x-key-content-type": long},
        "lines": {"contentType": "text/csv"},
        "bills": {
            "contentType": avro, "x-schema-subject": "bills-value",
            "x-key-content-type": avro, "x-key-schema-subject": "bills-key",
        },
        "parcels": {
            "contentType": "application/x-protobuf", "x-schema": "schemas/order.proto",
            "x-schema-subject": "shop.Order",
        },
        "rows": {"contentType": "text/csv"},
        "events": {"contentType": "application/json"},
    }  # fmt: skip
    framed = {
        name for name, message in messages.items() if "schemaIdLocation" in str(message.get("bindings"))
    }
    assert framed == {"source_web_orders", "model_bills", "model_parcels"}
    assert messages["model_bills"]["bindings"]["kafka"]["schemaIdPayloadEncoding"] == "confluent"


def test_explain(run, shop):
    text = " ".join(run("explain", "--format", "mermaid").out.split())
    for words in (
        "sink bills by id in avro (confluent), keys in avro (confluent) (append)", "decode avro (confluent): id",
        "sink parcels in protobuf (confluent) (append)", "decode avro: id",
        "sink rows by id in csv (append)", "decode csv (delimiter",
        "sink events by id (append)",
    ):  # fmt: skip
        assert words in text
