"""`produce` in every format, plain and framed: other software reads the rows of the generator, and so does `consume`."""

import json
import struct

import pytest
from click.testing import CliRunner
from support.damage import FLAT, KINDS, PROTO, avro_schema
from support.judges import avro_value, csv_value, json_value, micros, soap_value, xml_value
from support.protobufs import messages_of
from support.runs import create_topics, received
from support.shops import Shop

from millstream.cli.group import millstream
from millstream.project.pins import Subject, encode_subject, version_of

CODECS = """
from dataclasses import dataclass


@dataclass
class Order:
    id: int
    name: str | None


def decode_order(value: bytes) -> Order:
    number, _, name = value.partition(b"|")
    return Order(int(number), name.decode() or None)


def encode_order(row: Order) -> bytes:
    return f"{row.id}|{row.name or ''}".encode()
"""
TRAFFIC = """
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from random import Random

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
ROWS = [
    {"id": 1, "name": "Zoë", "total": 1.5, "at": AT, "ok": True, "price": Decimal("-0.05"), "small": -7, "tags": ["a", "b; c"]},
    {"id": -(2**63), "name": "it's <x>&", "total": -1e300, "at": AT, "ok": False, "price": None, "small": 0, "tags": []},
    {"id": 3, "name": None, "total": 0.1, "at": AT + timedelta(days=1), "ok": True, "price": Decimal("99999999.99"), "small": 2**31 - 1, "tags": ["𝄞"]},
]


def _of(value):
    for row in ROWS:
        yield f"k{row['small']}", value(row)


def _but(*names):
    return _of(lambda row: {name: each for name, each in row.items() if name not in names})
"""
JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": ["null", "string"]},
        "total": {"type": "number"},
        "at": {"type": "string", "format": "date-time"},
        "ok": {"type": "boolean"},
        "price": {"type": ["null", "number"]},
        "small": {"type": "integer", "connect.type": "int32"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
NEW = {"name": "new", "type": "int", "default": 7}
OLD_ID, NEW_ID, JSON_ID = 70, 71, 80


def columns(kinds):
    declared = ", ".join(f"{{name: {name}, type: '{kind}'}}" for name, kind in kinds.items())
    return f"columns: [{declared}]"


TOPICS = {
    "json": columns(KINDS),
    "csv": f"""format: csv, format_options: {{delimiter: ";", quote: "'", escape: "'"}}, {columns(FLAT)}""",
    "xml": f"format: xml, {columns(KINDS)}",
    "soap": "format: xml, format_options: {envelope: Envelope/Body, row_tag: order, namespace: 'urn:shop', "
    f"envelope_namespace: 'http://schemas.xmlsoap.org/soap/envelope/'}}, {columns(KINDS)}",
    "avro": "format: avro, schema: schemas/order.avsc",
    "avro_framed": "schema: registry",
    "protobuf": "format: protobuf, schema: schemas/order.proto",
    "protobuf_framed": "schema: registry",
    "json_framed": "schema: registry",
    "string": "format: string",
    "long": "format: long",
    "binary": "format: binary",
    "function": "format: python:decode_order, format_options: {encode: encode_order}",
}
ROWS = [
    {"id": 1, "name": "Zoë", "total": 1.5, "at": "2026-01-02T03:04:05.678901Z", "ok": True, "price": "-0.05", "small": -7, "tags": ["a", "b; c"]},
    {"id": -(2**63), "name": "it's <x>&", "total": -1e300, "at": "2026-01-02T03:04:05.678901Z", "ok": False, "price": None, "small": 0, "tags": []},
    {"id": 3, "name": None, "total": 0.1, "at": "2026-01-03T03:04:05.678901Z", "ok": True, "price": "99999999.99", "small": 2**31 - 1, "tags": ["𝄞"]},
]  # fmt: skip


def comparable(row, names):
    """Return a row in which times are in microseconds, and decimals are texts; no elements are an empty list."""
    values = {name: row.get(name) for name in names}
    if "tags" in values:
        values["tags"] = values["tags"] or []
    if values.get("price") is not None:
        values["price"] = str(values["price"])
    if isinstance(values.get("at"), str):
        values["at"] = micros(values["at"])
    return values


def pinned(name, kind, *texts):
    versions = [version_of(number, id_, kind, text) for number, (id_, text) in enumerate(texts, 1)]
    return encode_subject(Subject(f"{name}-value", "NONE", tuple(versions)))


@pytest.fixture
def shop(tmp_path, broker):
    project = Shop(tmp_path, broker)
    project.write("macros/codecs.py", CODECS)
    generators = [
        f"\n\ndef {name}(random: Random, now: datetime):\n    yield from {GENERATED.get(name, '_but()')}\n"
        for name in TOPICS
    ]
    project.write("seeds/traffic.py", TRAFFIC + "".join(generators))
    project.write("schemas/order.avsc", json.dumps(avro_schema()))
    project.write("schemas/order.proto", PROTO)
    old, new = json.dumps(avro_schema()), json.dumps(avro_schema(NEW))
    project.write(
        "schemas/registry/avro_framed-value.json", pinned("avro_framed", "AVRO", (OLD_ID, old), (NEW_ID, new))
    )
    project.write(
        "schemas/registry/json_framed-value.json",
        pinned("json_framed", "JSON", (JSON_ID, json.dumps(JSON_SCHEMA))),
    )
    # The order is the second message of its file.
    other = PROTO.replace("message Order", "message Other { int32 x = 1; }\nmessage Order")
    project.write(
        "schemas/registry/protobuf_framed-value.json", pinned("protobuf_framed", "PROTOBUF", (258, other))
    )
    topics = TOPICS | {"protobuf_framed": "schema: {subject: protobuf_framed-value}, message: shop.Order"}
    lines = "".join(f"  - {{name: {name}, key: k, {topic}}}\n" for name, topic in topics.items())
    project.write("models/web.yml", f"sources:\n- name: web\n  topics:\n{lines}")
    return project


def readers(folder):
    order = messages_of(folder / "plain", {"order.proto": PROTO})("shop.Order")

    def message(data):
        fields = order.FromString(data)
        time_ = fields.at.ToMicroseconds()
        row = {
            name: getattr(fields, name) if fields.HasField(name) else None
            for name in ("id", "name", "total", "ok", "small")
        }
        return row | {"at": time_, "tags": list(fields.tags)}

    def framed_message(data):
        assert data[:7] == b"\0\0\0\x01\x02\x02\x02"  # id 258, and one index, which is 1
        return message(data[7:])

    def framed_avro(data):
        assert data[:5] == b"\0" + NEW_ID.to_bytes(4, "big")
        row = avro_value(data[5:], avro_schema(NEW, plain=True))
        assert row.pop("new") == 7
        return row

    def framed_json(data):
        assert data[:5] == b"\0" + JSON_ID.to_bytes(4, "big")
        return json_value(data[5:], KINDS)

    def called(data):
        number, _, name = data.decode().partition("|")
        return {"id": int(number), "name": name or None}

    return {
        "json": lambda data: json_value(data, KINDS),
        "csv": lambda data: csv_value(data, FLAT),
        "xml": lambda data: xml_value(data, KINDS),
        "soap": lambda data: soap_value(data, KINDS),
        "avro": lambda data: avro_value(data, avro_schema(plain=True)),
        "avro_framed": framed_avro,
        "protobuf": message,
        "protobuf_framed": framed_message,
        "json_framed": framed_json,
        "string": lambda data: data.decode(),
        "long": lambda data: struct.unpack(">q", data)[0],
        "binary": lambda data: data,
        "function": called,
    }


GENERATED = {
    "csv": "_but('tags')",
    "protobuf": "_but('price')",
    "protobuf_framed": "_but('price')",
    "function": "_of(lambda row: {'id': row['id'], 'name': row['name']})",
    "string": "_of(lambda row: row['name'] or '')",
    "long": "_of(lambda row: row['id'])",
    "binary": "_of(lambda row: bytes([255, row['small'] % 256]))",
}
SINGLE = {
    "string": ["Zoë", "it's <x>&", ""],
    "long": [1, -(2**63), 3],
    "binary": [b"\xff\xf9", b"\xff\x00", b"\xff\xff"],
}
NAMES = {
    "csv": list(FLAT),
    "protobuf": [name for name in KINDS if name != "price"],
    "protobuf_framed": [name for name in KINDS if name != "price"],
    "function": ["id", "name"],
}


def expected_values(name):
    return SINGLE.get(name) or [comparable(row, NAMES.get(name, KINDS)) for row in ROWS]


@pytest.mark.long
def test_other_software_and_consume_read_what_generators_write(shop, tmp_path):
    create_topics(shop.bootstrap, *TOPICS, partitions=1)

    def run(*arguments):
        result = CliRunner().invoke(
            millstream, [arguments[0], "--project-dir", str(shop.root), *arguments[1:]]
        )
        assert result.exit_code == 0, result.output
        return result.stdout

    run("produce", *(f"web.{name}" for name in TOPICS))
    for name, read in readers(tmp_path).items():
        records = received(shop.bootstrap, name)
        assert [record.key() for record in records] == [b"k-7", b"k0", b"k2147483647"], name
        rows = [read(record.value()) for record in records]
        if name not in SINGLE:
            rows = [comparable(row, NAMES.get(name, KINDS)) for row in rows]
        assert rows == expected_values(name), name
        shown = [
            json.loads(line)
            for line in run("consume", name, "--from-beginning", "--output", "json").splitlines()
        ]
        assert [record.get("undecodable") for record in shown] == [None] * 3, name
        if name == "binary":
            assert [record["value"] for record in shown] == [
                {"base64": text} for text in ("//k=", "/wA=", "//8=")
            ]
        elif name in SINGLE:
            assert [record["value"] for record in shown] == SINGLE[name]
        else:
            assert [
                comparable(record["value"], NAMES.get(name, KINDS)) for record in shown
            ] == expected_values(name), name
