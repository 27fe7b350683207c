"""Each format from a topic to a topic, on Kafka and Spark. Other software writes the records and reads ours."""

import io
import json
from datetime import datetime, timezone
from xml.etree import ElementTree as ET

import fastavro
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_tools import protoc
from msgspec import Struct
from support.runs import built, create_topics, errors, headers, received, send
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project

pytestmark = SPARK_WARNINGS

TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
ROWS = [
    {"id": 1, "name": 'Zoë, "x" <y>', "total": 1.5, "at": TIME, "tags": ["a", "b"]},
    {"id": 2, "name": "", "total": -0.1, "at": TIME, "tags": []},
    {"id": 3, "name": "end", "total": 1e300, "at": TIME, "tags": ["c"]},
]
AVRO = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "total", "type": "double"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}
PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "base/names.proto";
message Order {
  int64 id = 1;
  Name name = 2;
  double total = 3;
  google.protobuf.Timestamp at = 4;
  repeated string tags = 5;
}
"""
NAMES = 'syntax = "proto3"; package shop; message Name { string text = 1; }'
JSON_SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": ["null", "string"]},
        "total": {"type": "number"},
        "at": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
COLUMNS = "columns: [{name: id, type: bigint}, {name: name, type: string}, {name: total, type: double}, {name: at, type: timestamp}"


class Case(Struct):
    topic: str
    """What the source says of its topic."""
    sink: str
    """The options of the sink."""
    select: str
    write: object
    read: object
    bad: dict
    """Values and the reasons why they are bad."""
    files: dict = {}
    tags: bool = True


def avro(row):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(AVRO), row)
    return out.getvalue()


def read_avro(value, root):
    """Read what a sink wrote by the schema that it derived, which is in the manifest."""
    manifest = compile_project(root, use_cache=False).manifest
    schema = json.loads(manifest.nodes["model.copy"].config["value_schema"])
    source = io.BytesIO(value)
    row = fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)
    assert source.read() == b""
    return row


def message(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proto")
    (folder / "base").mkdir()
    (folder / "base/names.proto").write_text(NAMES)
    (folder / "order.proto").write_text(PROTO)
    out = folder / "set"
    google = str(protoc.__file__).rpartition("/")[0] + "/_proto"
    assert (
        protoc.main(
            ["", f"-I{folder}", f"-I{google}", "--include_imports", f"-o{out}", f"{folder}/order.proto"]
        )
        == 0
    )
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    return message(tmp_path_factory)


def protobuf(row, order):
    message = order(id=row["id"], total=row["total"], tags=row["tags"])
    message.name.text = row["name"]
    message.at.FromDatetime(row["at"])
    return message.SerializeToString()


def read_protobuf(value, order):
    message = order.FromString(value)
    timestamp = message.at.ToDatetime(timezone.utc)
    return {
        "id": message.id,
        "name": message.name.text,
        "total": message.total,
        "at": timestamp,
        "tags": list(message.tags),
    }


def as_json(row):
    return json.dumps({**row, "at": row["at"].isoformat()}).encode()


def read_json(value):
    row = json.loads(value)
    return {**row, "at": datetime.fromisoformat(row["at"].replace("Z", "+00:00"))}


def as_csv(row):
    name = row["name"].replace("'", "''")
    return f"id;name;total;at\n{row['id']};'{name}';{row['total']!r};{row['at'].isoformat()}\n".encode()


def read_csv(value):
    import csv

    names, line = csv.reader(io.StringIO(value.decode()), delimiter=";", quotechar="'", doublequote=True)
    row = dict(zip(names, line, strict=True))
    timestamp = datetime.fromisoformat(row["at"].replace("Z", "+00:00"))
    return {"id": int(row["id"]), "name": row["name"], "total": float(row["total"]), "at": timestamp}


SOAP = "http://schemas.xmlsoap.org/soap/envelope/"


def soap(row):
    root = ET.Element(f"{{{SOAP}}}Envelope")
    body = ET.SubElement(root, f"{{{SOAP}}}Body")
    element = ET.SubElement(body, "{urn:shop}order")
    for name, value in row.items():
        for scalar in value if isinstance(value, list) else [value]:
            text = scalar.isoformat() if isinstance(scalar, datetime) else str(scalar)
            ET.SubElement(element, f"{{urn:shop}}{name}").text = text
    return ET.tostring(root)


def read_soap(value):
    element = ET.fromstring(value).find(f"./{{{SOAP}}}Body/{{urn:shop}}order")
    texts = {}
    for child in element:
        texts.setdefault(child.tag.removeprefix("{urn:shop}"), []).append(child.text or "")
    return {
        "id": int(texts["id"][0]),
        "name": texts["name"][0],
        "total": float(texts["total"][0]),
        "at": datetime.fromisoformat(texts["at"][0].replace("Z", "+00:00")),
        "tags": texts.get("tags", []),
    }


CSV_OPTIONS = """{delimiter: ";", quote: "'", escape: "'", header: true}"""
XML_OPTIONS = (
    f"{{envelope: Envelope/Body, row_tag: order, namespace: 'urn:shop', envelope_namespace: '{SOAP}'}}"
)
CASES = {
    "avro": Case(
        "format: avro, schema: schemas/order.avsc", "format='avro'", "*",
        lambda row, _: avro(row), lambda value, root, _: read_avro(value, root),
        {b"\x02": "field name: the value ends too early", avro(ROWS[0]) + b"x": "there is more after the record: 1 bytes"},
        {"schemas/order.avsc": json.dumps(AVRO)},
    ),
    "avro with a schema": Case(
        "format: avro, schema: schemas/order.avsc", "format='avro', schema='schemas/order.avsc'", "*",
        lambda row, _: avro(row),
        lambda value, *_: fastavro.schemaless_reader(io.BytesIO(value), fastavro.parse_schema(AVRO), None),
        {b"": "field id: the value ends too early"},
        {"schemas/order.avsc": json.dumps(AVRO)},
    ),
    "protobuf": Case(
        "format: protobuf, schema: schemas/order.proto", "format='protobuf', schema='schemas/order.proto'", "*",
        protobuf, lambda value, _, order: read_protobuf(value, order),
        {b"\x12\x03\x0a\x01\xff": "field name.text: the text is not UTF-8", b"\x08": "field id: the value is cut off"},
        {"schemas/order.proto": PROTO, "schemas/base/names.proto": NAMES},
    ),
    "json schema": Case(
        "schema: schemas/order.json", "key='id'", "*",
        lambda row, _: as_json(row), lambda value, *_: read_json(value),
        {b'{"id": "1"}': "field id: '1' is not a bigint", b"{}": "field id: the value is missing"},
        {"schemas/order.json": json.dumps(JSON_SCHEMA)},
    ),
    "csv": Case(
        f"format: csv, format_options: {CSV_OPTIONS}, {COLUMNS}]",
        """format='csv', format_options={'delimiter': ';', 'quote': "'", 'escape': "'", 'header': 'true'}""", "*",
        lambda row, _: as_csv(row), lambda value, *_: read_csv(value),
        {b"id;name;total;at\nx;;;": "field id: 'x' is not a bigint", b"id\n1\n2": "there is more after the line"},
        tags=False,
    ),
    "soap": Case(
        f"format: xml, format_options: {XML_OPTIONS}, {COLUMNS}, {{name: tags, type: array<string>}}]",
        f"format='xml', format_options={{'envelope': 'Envelope/Body', 'row_tag': 'order', 'namespace': 'urn:shop', 'envelope_namespace': '{SOAP}'}}",
        "*", lambda row, _: soap(row), lambda value, *_: read_soap(value),
        {
            f"<Envelope xmlns='{SOAP}'><Body><Fault><faultstring>down</faultstring></Fault></Body></Envelope>".encode(): "a fault: 'down'",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_from_topic_to_topic(shop, first_spark, order, name):
    case = CASES[name]
    rows = [row if case.tags else {k: v for k, v in row.items() if k != "tags"} for row in ROWS]
    for path, text in case.files.items():
        shop.write(path, text)
    shop.write(
        "models/web.yml",
        f"sources: [{{name: web, topics: [{{name: orders, on_bad_record: dead_letter, key: k, {case.topic}}}]}}]\n",
    )
    shop.model(
        "copy",
        f"{{{{ config(materialized='sink', {case.sink}) }}}} select id, name, total, at{', tags' if case.tags else ''} "
        "from {{ source('web', 'orders') }} where k <> ''",
    )
    good = [(f"k{row['id']}", case.write(row, order)) for row in rows]
    bad = [(f"b{index}", value) for index, value in enumerate(case.bad)]
    no_key = (b"\xff", good[0][1])
    create_topics(shop.bootstrap, "orders")
    send(shop.bootstrap, {"orders": [*good[:2], *bad, no_key, *good[2:]]})
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    copied = [case.read(record.value(), shop.root, order) for record in received(shop.bootstrap, "copy")]
    assert sorted(copied, key=lambda row: row["id"]) == rows
    letters = received(shop.bootstrap, "orders.dead_letter")
    reasons = {(letter.key(), letter.value()): headers(letter)["millstream.reason"] for letter in letters}
    assert reasons.pop(no_key) == "the key: not valid UTF-8"
    assert reasons.keys() == {(key.encode(), value) for key, value in bad}
    for (_, value), reason in reasons.items():
        assert reason.startswith(case.bad[value])
