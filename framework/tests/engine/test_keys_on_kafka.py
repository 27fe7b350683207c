"""Keys in each format from a topic to a topic, on Kafka and Spark. Other software writes them and reads ours."""

import io
import json
import struct
from xml.etree import ElementTree as ET

import fastavro
import pytest
from click.testing import CliRunner
from confluent_kafka.serialization import (
    DoubleSerializer,
    MessageField,
    SerializationContext,
    StringDeserializer,
    StringSerializer,
)
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_tools import protoc
from msgspec import Struct
from support.runs import built, create_topics, errors, headers, received, send, table_rows
from support.shops import UNOPTIMIZED
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.compile import compile_project

pytestmark = SPARK_WARNINGS

CONTEXT = SerializationContext("topic", MessageField.KEY)
RECORD = {
    "type": "record",
    "name": "Id",
    "namespace": "shop",
    "fields": [{"name": "shop", "type": "string"}, {"name": "number", "type": "long"}],
}
IDS = [{"shop": "Zürich", "number": 1}, {"shop": "", "number": -(2**63)}, {"shop": 'a,"b', "number": 3}]
PROTO = 'syntax = "proto3"; package shop; message Id { string shop = 1; int64 number = 2; }'
STRUCT = "struct<shop: string, number: bigint>"


def avro(schema, value, header=b""):
    out = io.BytesIO(header)
    out.seek(len(header))
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def read_avro(schema, data):
    source = io.BytesIO(data)
    value = fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)
    assert source.read() == b""
    return value


def xml(value):
    element = ET.Element("{urn:shop}id")
    for name, part in value.items():
        ET.SubElement(element, f"{{urn:shop}}{name}").text = str(part)
    return ET.tostring(element)


def read_xml(data, _):
    element = ET.fromstring(data)
    assert element.tag == "{urn:shop}id"
    parts = {child.tag.removeprefix("{urn:shop}"): child.text or "" for child in element}
    return parts | {"number": int(parts["number"])}


def soap(value):
    return b"<Envelope><Body>" + xml(value) + b"</Body></Envelope>"


def read_soap(data, schema):
    (body,) = ET.fromstring(data)
    (element,) = body
    return read_xml(ET.tostring(element), schema)


def written_schema(root, model):
    """Return the schema that a sink derived for its keys, which is in the manifest."""
    manifest = compile_project(root, use_cache=False).manifest
    return json.loads(manifest.nodes[f"model.{model}"].config["written_key_schema"])


class Case(Struct):
    key: str
    """What the source says of its key."""
    sink: str
    """The options of the sink."""
    values: list
    write: object
    read: object
    """From the bytes of a key, given the schema that the sink derived."""
    bad: dict
    """Keys, and why they are bad."""


def proto_id(folder):
    (folder / "id.proto").write_text(PROTO)
    out = folder / "set"
    assert protoc.main(["", f"-I{folder}", f"-o{out}", f"{folder}/id.proto"]) == 0
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Id"))


def cases(message):
    def read_message(data, _):
        key = message.FromString(data)
        return {"shop": key.shop, "number": key.number}

    return {
        "text": Case(
            "k", "key='k'", ["Zürich", "", "a"],
            lambda value: StringSerializer()(value, CONTEXT), lambda data, _: StringDeserializer()(data, CONTEXT),
            {b"\xff": "the key: not valid UTF-8"},
        ),
        "number_as_text": Case(
            "{name: k, type: double}", "key='k', key_format='string'", [1.5, -0.25],
            lambda value: StringSerializer()(repr(value), CONTEXT), lambda data, _: float(data),
            {b"x": "the key: 'x' is not a double"},
        ),
        "long": Case(
            "{name: k, format: long}", "key='k', key_format='long'", [1, -(2**63), 2**63 - 1],
            lambda value: struct.pack(">q", value), lambda data, _: struct.unpack(">q", data)[0],
            {b"1": "the key: not eight bytes of a number"},
        ),
        "binary": Case(
            "{name: k, format: binary}", "key='k', key_format='binary'", [1.5, -2.25],
            lambda value: DoubleSerializer()(value, CONTEXT), lambda data, _: struct.unpack(">d", data)[0],
            {},
        ),
        "json_number": Case(
            "{name: k, type: int, format: json}", "key='k', key_format='json'", [12, -1],
            lambda value: json.dumps(value).encode(), lambda data, _: json.loads(data),
            {
                b'"12"': "the key: '12' is not an int", b"1 2": "the key: there is more after the JSON value",
                b"3000000000": "the key: '3000000000' is not an int", b"{}": "the key: an object is not an int",
                b"": "the key: the value is empty",
            },
        ),
        "json_text": Case(
            "{name: k, type: string, format: json}", "key='k', key_format='json'", ["a", "[Zü\"'rich]", ""],
            lambda value: json.dumps(value).encode(), lambda data, _: json.loads(data),
            {b"a": "the key: not JSON", b'"\\ud800"': "the key: '\\ud800' is not a valid text"},
        ),
        "json_struct": Case(
            f"{{name: k, type: '{STRUCT}', format: json}}", "key='k', key_format='json'", IDS,
            lambda value: json.dumps(value).encode(), lambda data, _: json.loads(data),
            {b'{"number": "1"}': "the key: field number: '1' is not a bigint", b"[]": "the key: an array is not an object"},
        ),
        "json_schema": Case(
            "{name: k, format: json, schema: schemas/tags.json}", "key='k', key_format='json'", [["a", "b"], []],
            lambda value: json.dumps(value).encode(), lambda data, _: json.loads(data),
            {b"{}": "the key: an object is not an array"},
        ),
        "avro_long": Case(
            "{name: k, format: avro, schema: schemas/long.avsc}", "key='k', key_format='avro'", [1, -(2**63)],
            lambda value: avro("long", value), lambda data, schema: read_avro(schema, data),
            {b"": "the key: the value ends too early", b"\x02\x02": "the key: there is more after the"},
        ),
        "avro_record": Case(
            "{name: k, format: avro, schema: schemas/id.avsc}", "key='k', key_format='avro'", IDS,
            lambda value: avro(RECORD, value), lambda data, schema: read_avro(schema, data),
            {b"\x02\xff\x02": "the key: field shop: "},
        ),
        "json_framed": Case(
            f"{{name: k, type: '{STRUCT}', format: json, framing: confluent}}", "key='k', key_format='json'", IDS,
            lambda value: b"\0\0\0\0\x07" + json.dumps(value).encode(), lambda data, _: json.loads(data),
            {b"{}": "the key: the value has 2 bytes, and no id of a schema"},
        ),
        "protobuf": Case(
            "{name: k, format: protobuf, schema: schemas/id.proto}",
            "key='k', key_format='protobuf', key_schema='schemas/id.proto'", IDS,
            lambda value: message(**value).SerializeToString(), read_message,
            {b"\x0a\x01\xff": "the key: field shop: the text is not UTF-8"},
        ),
        "protobuf_framed": Case(
            "{name: k, format: protobuf, schema: schemas/id.proto, framing: confluent}",
            "key='k', key_format='protobuf', key_schema='schemas/id.proto'", IDS,
            lambda value: b"\0\0\0\0\x07\0" + message(**value).SerializeToString(), read_message,
            {
                b"\0\0\0\0\x07\x02\x02": "the key: the value has message indexes 1, not 0 of message shop.Id",
                b"\x0a\x01a": "the key: the value has 3 bytes, and no id of a schema",
            },
        ),
        "csv": Case(
            f"{{name: k, type: '{STRUCT}', format: csv, format_options: {{delimiter: ';'}}}}",
            "key='k', key_format='csv', key_format_options={'delimiter': ';'}", [{"shop": "a;b", "number": 1}],
            lambda value: f'"{value["shop"]}";{value["number"]}'.encode(),
            lambda data, _: {"shop": data.decode().split('"')[1], "number": int(data.decode().rpartition(";")[2])},
            {b"a;x": "the key: field number: 'x' is not a bigint"},
        ),
        "xml": Case(
            f"{{name: k, type: '{STRUCT}', format: xml, format_options: {{row_tag: id, namespace: 'urn:shop'}}}}",
            "key='k', key_format='xml', key_format_options={'row_tag': 'id', 'namespace': 'urn:shop'}", IDS,
            xml, read_xml,
            {
                b"<id xmlns='urn:shop'><number>x</number></id>": "the key: field number: 'x' is not a bigint",
                b"<id xmlns='urn:other'/>": "the key: the element 'id' is not in the namespace urn:shop",
                b"<id": "the key: not XML: ",
            },
        ),
        "soap": Case(
            f"{{name: k, type: '{STRUCT}', format: xml, format_options: {{envelope: Envelope/Body, row_tag: id, namespace: 'urn:shop'}}}}",
            "key='k', key_format='xml', key_format_options={'envelope': 'Envelope/Body', 'row_tag': 'id', 'namespace': 'urn:shop'}",
            IDS, soap, read_soap,
            {xml(IDS[0]): "the key: 'id' is not the element 'Envelope'"},
        ),
    }  # fmt: skip


FILES = {
    "schemas/tags.json": {"type": "array", "items": {"type": "string"}},
    "schemas/long.avsc": "long",
    "schemas/id.avsc": RECORD,
}


@pytest.fixture(scope="module")
def message(tmp_path_factory):
    return proto_id(tmp_path_factory.mktemp("proto"))


@pytest.mark.long
def test_from_topic_to_topic(shop, first_spark, message):
    formats = cases(message)
    for path, content in FILES.items():
        shop.write(path, json.dumps(content))
    shop.write("schemas/id.proto", PROTO)
    topics = [
        f"  - {{name: {name}, on_bad_record: dead_letter, key: {case.key}, columns: [{{name: n, type: int}}]}}\n"
        for name, case in formats.items()
    ]
    shop.write("models/web.yml", f"sources:\n- name: web\n  topics:\n{''.join(topics)}")
    for name, case in formats.items():
        config = f"{{{{ config(materialized='sink', {case.sink}) }}}}"
        shop.model(f"{name}_copy", f"{config} select k, n from {{{{ source('web', '{name}') }}}}")
    create_topics(shop.bootstrap, *formats, partitions=1)
    records = {}
    for name, case in formats.items():
        good = [(case.write(value), {"n": index}) for index, value in enumerate(case.values)]
        bad = [(key, {"n": -1}) for key in case.bad]
        records[name] = [*good[:1], *bad, *good[1:], (None, {"n": 99})]
    send(shop.bootstrap, records)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    for name, case in formats.items():
        schema = written_schema(shop.root, f"{name}_copy") if case.sink.endswith("'avro'") else None
        copied = {
            json.loads(record.value())["n"]: record.key()
            for record in received(shop.bootstrap, f"{name}_copy")
        }
        assert copied.pop(99) is None, name
        read = {index: case.read(key, schema) for index, key in copied.items()}
        assert read == dict(enumerate(case.values)), name
        letters = received(shop.bootstrap, f"{name}.dead_letter") if case.bad else []
        reasons = {letter.key(): headers(letter)["millstream.reason"] for letter in letters}
        assert reasons.keys() == case.bad.keys(), name
        for key, reason in reasons.items():
            assert reason.startswith(case.bad[key]), name


TRAFFIC = """
from datetime import datetime
from itertools import count
from random import Random


def visits(random: Random, now: datetime):
    for number in count(1):
        yield {"shop": "a", "number": number}, {"n": number}
"""


def test_commands_know_the_formats_of_keys(shop):
    shop.write("schemas/id.avsc", json.dumps(RECORD))
    shop.write("models/joined.yml", JOINED)
    shop.write("seeds/traffic.py", TRAFFIC)
    sink = "{{ config(materialized='sink', key='k', key_format='json') }}"
    shop.model("copy", f"{sink} select k, n from {{{{ source('web', 'visits') }}}}")
    create_topics(shop.bootstrap, "visits", partitions=1)

    def run(*arguments):
        result = CliRunner().invoke(
            millstream, [arguments[0], "--project-dir", str(shop.root), *arguments[1:]]
        )
        assert result.exit_code == 0, result.output
        return result.stdout

    run("produce", "visits", "--count", "2")
    send(shop.bootstrap, {"visits": [(b"\xff", {"n": 3})]})
    keys = [record.key() for record in received(shop.bootstrap, "visits")]
    assert [read_avro(RECORD, key)["number"] for key in keys[:2]] == [1, 2]
    shown = [
        json.loads(line) for line in run("consume", "visits", "--last", "3", "--output", "json").splitlines()
    ]
    assert [row["key"] for row in shown] == [
        {"shop": "a", "number": 1}, {"shop": "a", "number": 2}, {"base64": "/w=="},
    ]  # fmt: skip
    assert "key" in shown[2]["undecodable"]
    assert "decode json, keys avro: k, n" in run("explain", "copy")
    document = json.loads(run("docs", "generate", "--format", "asyncapi"))["components"]["messages"]
    assert document["source_web_visits"]["x-key-content-type"] == "application/vnd.apache.avro"
    assert document["source_web_visits"]["bindings"]["kafka"]["key"]["type"] == "object"
    assert document["model_copy"]["x-key-content-type"] == "application/json"


JOINED = f"""
sources:
- name: web
  topics:
  - {{name: orders, key: {{name: id, format: long}}, columns: [{{name: total, type: int}}]}}
  - {{name: payments, key: {{name: id, type: bigint}}, columns: [{{name: paid, type: int}}]}}
  - {{name: visits, key: {{name: k, format: avro, schema: schemas/id.avsc}}, columns: [{{name: n, type: int}}]}}
  - {{name: clicks, key: {{name: k, type: '{STRUCT}', format: json}}, columns: [{{name: n, type: int}}]}}
  - {{name: users, table: true, key: {{name: k, format: avro, schema: schemas/id.avsc}}, columns: [{{name: name, type: string}}]}}
"""
SQL = {
    "matched": """{{ config(materialized='sink', key='id', key_format='long', unbounded_state='accept') }}
        select o.id, o.total, p.paid from {{ source('web', 'orders') }} o
        join {{ source('web', 'payments') }} p on o.id = p.id""",
    "both": "select id, total as amount from {{ source('web', 'orders') }} union all select id, paid from {{ source('web', 'payments') }}",
    "sums": """{{ config(materialized='sink', key='id', key_format='json', unbounded_state='accept') }}
        select id, sum(amount) as amount from {{ ref('both') }} where id is not null group by id""",
    "counts": """{{ config(materialized='table', unique_key='id', unbounded_state='accept') }}
        select id, count(*) as records from {{ ref('both') }} group by id""",
    "seen": "select k, n from {{ source('web', 'visits') }} union all select k, n from {{ source('web', 'clicks') }}",
    "by_shop": """{{ config(materialized='table', unique_key='k', unbounded_state='accept') }}
        select k, sum(n) as n from {{ ref('seen') }} group by k""",
    "pairs": """{{ config(materialized='sink', key='k', key_format='avro', unbounded_state='accept') }}
        select v.k, v.n as visit, c.n as click from {{ source('web', 'visits') }} v
        join {{ source('web', 'clicks') }} c on v.k = c.k""",
    "again": """{{ config(materialized='sink', key=['visit', 'click'], key_format='avro') }}
        select k.shop, visit, click from {{ ref('pairs') }}""",
    "named": """{{ config(materialized='sink', key='k', key_format='avro') }}
        select v.k, v.n, u.name from {{ source('web', 'visits') }} v left join {{ source('web', 'users') }} u on v.k = u.k""",
    "known": """{{ config(materialized='sink', key='k', key_format='avro') }}
        select k, name from {{ source('web', 'users') }} where name <> 'hidden'""",
}  # fmt: skip
BATCHES = [
    {
        "users": [(avro(RECORD, IDS[0]), {"name": "Ann"}), (avro(RECORD, IDS[1]), {"name": "Ben"})],
        "orders": [(struct.pack(">q", 1), {"total": 10}), (struct.pack(">q", -5), {"total": 20})],
        "payments": [("1", {"paid": 7})],
        "visits": [(avro(RECORD, IDS[0]), {"n": 1}), (avro(RECORD, IDS[2]), {"n": 2})],
        "clicks": [(json.dumps(IDS[0]), {"n": 10}), (None, {"n": 500})],
    },
    {
        "users": [(avro(RECORD, IDS[0]), None), (avro(RECORD, IDS[1]), {"name": "hidden"})],
        "orders": [(struct.pack(">q", 1), {"total": 1})],
        "payments": [("-5", {"paid": 8}), ("1", {"paid": 9}), (None, {"paid": 100})],
        "visits": [(avro(RECORD, IDS[0]), {"n": 3}), (avro(RECORD, IDS[1]), {"n": 4}), (None, {"n": 1000})],
        "clicks": [('{"number": 3, "shop": "a,\\"b"}', {"n": 20})],
    },
]


def rows(shop, topic):
    return sorted((record.key() or b"", record.value() or b"") for record in received(shop.bootstrap, topic))


@pytest.mark.long
@pytest.mark.parametrize("target", ["optimized", "unoptimized"])
def test_keys_join_and_group_across_formats(shop, first_spark, target):
    shop.write("schemas/id.avsc", json.dumps(RECORD))
    shop.write("models/joined.yml", JOINED)
    if target == "unoptimized":
        shop.write("profiles.yml", UNOPTIMIZED)
    for name, sql in SQL.items():
        shop.model(name, sql)
    create_topics(shop.bootstrap, "orders", "payments", "visits", "clicks", "users", partitions=2)
    for batch in BATCHES:
        send(shop.bootstrap, batch)
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
    matched = [(struct.unpack(">q", key)[0], json.loads(value)) for key, value in rows(shop, "matched")]
    assert sorted((id_, row["total"], row["paid"]) for id_, row in matched) == [
        (-5, 20, 8), (1, 1, 7), (1, 1, 9), (1, 10, 7), (1, 10, 9),
    ]  # fmt: skip
    newest = {record.key(): json.loads(record.value()) for record in received(shop.bootstrap, "sums")}
    assert {key: row["amount"] for key, row in newest.items()} == {b"1": 27, b"-5": 28}
    assert {row["id"]: row["records"] for row in table_rows(shop.root, "model.counts")} == {
        1: 4,
        -5: 2,
        None: 1,
    }
    by_shop = {row["k"] and row["k"]["number"]: row["n"] for row in table_rows(shop.root, "model.by_shop")}
    assert by_shop == {1: 14, 3: 22, -(2**63): 4, None: 1500}
    schema = written_schema(shop.root, "pairs")
    by_key = [(read_avro(schema, key)["number"], json.loads(value)) for key, value in rows(shop, "pairs")]
    assert sorted((id_, row["visit"], row["click"]) for id_, row in by_key) == [
        (1, 1, 10),
        (1, 3, 10),
        (3, 2, 20),
    ]
    schema = written_schema(shop.root, "again")
    by_key = [(read_avro(schema, key), json.loads(value)["shop"]) for key, value in rows(shop, "again")]
    assert sorted((key["visit"], key["click"], shop_) for key, shop_ in by_key) == [
        (1, 10, "Zürich"), (2, 20, 'a,"b'), (3, 10, "Zürich"),
    ]  # fmt: skip
    schema = written_schema(shop.root, "named")
    by_key = [
        (key and read_avro(schema, key)["number"], json.loads(value)) for key, value in rows(shop, "named")
    ]
    assert sorted((row["n"], id_ or None, row.get("name")) for id_, row in by_key if row["n"] in {1, 2, 4, 1000}) == [
        (1, 1, "Ann"), (2, 3, None), (4, -(2**63), "hidden"), (1000, None, None),
    ]  # fmt: skip
    schema = written_schema(shop.root, "known")
    newest = {}
    for record in received(shop.bootstrap, "known"):
        newest[read_avro(schema, record.key())["number"]] = (
            record.value() and json.loads(record.value())["name"]
        )
    assert newest == {1: None, -(2**63): None}
