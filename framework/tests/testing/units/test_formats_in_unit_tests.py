"""Unit tests of models that read and write each format: given rows, expected rows and dead letters."""

import json
from inspect import cleandoc

import pytest
from support.spark import SPARK_WARNINGS

from millstream.project.pins import Subject, encode_subject, version_of

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}
PROTO = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Order {
  optional int64 id = 1;
  optional string name = 2;
  google.protobuf.Timestamp at = 3;
  repeated string tags = 4;
}
"""
JSON = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": ["null", "string"]},
        "at": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id"],
}
CODECS = """
    from dataclasses import dataclass
    from datetime import datetime, timezone

    EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


    @dataclass
    class Order:
        id: int
        name: str | None
        at: datetime
        tags: list[str]


    def decode_order(value: bytes) -> Order:
        number, name, at, *tags = value.decode().split("|")
        return Order(int(number), name or None, datetime.fromisoformat(at), tags)


    def encode_order(row: Order) -> bytes:
        return "|".join([str(row.id), row.name or "", row.at.isoformat(), *row.tags]).encode()
"""
FLAT = "columns: [{name: id, type: bigint}, {name: name, type: string}, {name: at, type: timestamp}"
NESTED = f"{FLAT}, {{name: tags, type: array<string>}}]"
SOAP = "envelope: Envelope/Body, row_tag: order, namespace: 'urn:shop'"
# What the source says, the options of the sink, a bad value as YAML, and the start of its reason.
TOPICS = {
    "json": (NESTED, "", '\'{"id": 1.5}\'', "field id: '1.5' is not a bigint"),
    "csv": (f"format: csv, {FLAT}]", "format='csv'", "'x,,'", "field id: 'x' is not a bigint"),
    "xml": (f"format: xml, {NESTED}", "format='xml'", "<row><id>x</id></row>", "field id: 'x' is not a bigint"),
    "soap": (
        f"format: xml, format_options: {{{SOAP}}}, {NESTED}",
        "format='xml', format_options={'envelope': 'Envelope/Body', 'row_tag': 'order', 'namespace': 'urn:shop'}",
        "'<Envelope><Body><Fault>down</Fault></Body></Envelope>'", "a fault: 'down'",
    ),
    "avro": ("format: avro, schema: schemas/order.avsc", "format='avro'", "x", "field name: the value ends too early"),
    "avro_framed": ("schema: {subject: of-avro}", "format='avro'", "x", "the value has 1 bytes, and no id of a schema"),
    "protobuf": (
        "format: protobuf, schema: schemas/order.proto", "format='protobuf', schema='schemas/order.proto'",
        '"\\x08"', "field id: the value is cut off",
    ),
    "protobuf_framed": (
        "schema: {subject: of-protobuf}", "format='protobuf', schema='schemas/order.proto'",
        "x", "the value has 1 bytes, and no id of a schema",
    ),
    "json_framed": ("schema: {subject: of-json}", "", "x", "the value has 1 bytes, and no id of a schema"),
    "avro_of_file": (
        "format: avro, schema: schemas/order.avsc, framing: confluent", "format='avro', framing='confluent'",
        "{hex: '000000000702'}", "unknown schema id 7",
    ),
    "avro_of_pin": (
        "schema: {subject: of-avro}", "schema='registry', subject='of-avro'",
        "{hex: '000000000802'}", "unknown schema id 8",
    ),
    "protobuf_of_file": (
        "format: protobuf, schema: schemas/order.proto, framing: confluent",
        "format='protobuf', schema='schemas/order.proto', framing='confluent'",
        "{hex: '00000000000202'}", "the value has message indexes 1, not 0 of message Order",
    ),
    "json_of_file": (
        "schema: schemas/order.json, framing: confluent", "framing='confluent', subject='other'",
        "{hex: '0000000000'}", "the value is empty",
    ),
    "function": (
        "format: python:decode_order, format_options: {encode: encode_order}",
        "format='python:encode_order', format_options={'decode': 'decode_order'}",
        "'x|a|2026-01-02'", "decode_order(): ValueError: invalid literal for int() with base 10: 'x' (macros/codecs.py:17)",
    ),
}  # fmt: skip
SINGLE = {
    "string": ("format: string", "format='string'", "[a, '', ' Zoë ']", "{hex: ff}", "not valid UTF-8"),
    "number": (
        "format: string, columns: [{name: value, type: int}]", "format='string'", "[1, -5, 2147483647]",
        "'1.5'", "'1.5' is not an int",
    ),
    "long": ("format: long", "format='long'", "[1, -9223372036854775808, 0]", "'1'", "not eight bytes of a number"),
    "binary": ("format: binary", "format='binary'", "[{hex: ff}, {hex: ''}, {hex: '00'}]", "", ""),
}  # fmt: skip
TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "children", "type": {"type": "array", "items": "Tree"}},
    ],
}
TREE_PROTO = 'syntax = "proto3"; message Tree { int64 id = 1; repeated Tree children = 2; }'
TREES = {
    "tree_avro": ("format: avro, schema: schemas/tree.avsc", "format='avro', schema='schemas/tree.avsc'"),
    "tree_protobuf": (
        "format: protobuf, schema: schemas/tree.proto",
        "format='protobuf', schema='schemas/tree.proto'",
    ),
    "tree_json": ("schema: schemas/tree.json", ""),
}
"""Records within themselves: texts of JSON."""
TREE_JSON = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}},
}
CHILDREN = "id bigint, children array<string>"
CHILD = '{"id":2,"children":[{"id":3,"children":[]}]}'
ROW = "{id: 1, name: Zoë, at: 2026-01-02 03:04:05.678901, tags: [a, 'b, c']}"
SECOND = "{id: -9223372036854775808, name: null, at: 2026-01-02 00:00:00, tags: [x]}"


def source(name, topic):
    return f"      - {{name: {name}, on_bad_record: dead_letter, {topic}}}\n"


def case_of(name, topic):
    rows = [ROW, SECOND]
    if name == "csv":
        rows = [row.partition(", tags")[0] + "}" for row in rows]
    _, _, bad, reason = topic
    return (
        f"- name: {name}\n  model: copy_{name}\n  given:\n"
        f"    - {{input: \"source('desk', '{name}')\", rows: [{rows[0]}, {{_value: {bad}}}, {rows[1]}]}}\n"
        f'  expect: [{", ".join(rows)}]\n  expect_dead_letters: [{{reason: "{reason}"}}]\n'
    )


def single_case_of(name, topic):
    _, _, values, bad, reason = topic
    values = [value.strip() for value in values.strip("[]").split(",")]
    rows = ", ".join(f"{{value: {value}}}" for value in values)
    input_rows = f"{rows}, {{_value: {bad}}}" if bad else rows
    letters = f'  expect_dead_letters: [{{reason: "{reason}"}}]\n' if bad else ""
    return (
        f"- name: {name}\n  model: copy_{name}\n  given:\n"
        f"    - {{input: \"source('desk', '{name}')\", rows: [{input_rows}]}}\n  expect: [{rows}]\n{letters}"
    )


def tree_case_of(name):
    rows = f"{{id: 1, children: ['{CHILD}']}}, {{id: 4, children: []}}"
    return (
        f"- name: {name}\n  model: copy_{name}\n  given:\n"
        f"    - {{input: \"source('desk', '{name}')\", rows: [{rows}]}}\n  expect: [{rows}]\n"
        f"- name: {name}_read\n  model: read_{name}\n  given:\n"
        f"    - {{input: \"source('desk', '{name}')\", rows: [{rows}]}}\n  expect: [{{id: 1, child: 2, more: 1}}]\n"
    )


def pin(subject, kind, text):
    return encode_subject(Subject(subject, "NONE", (version_of(1, 7, kind, text),)))


def test_rows_in_every_format(shop):
    files = {
        "schemas/order.avsc": json.dumps(AVRO),
        "schemas/order.proto": PROTO,
        "schemas/order.json": json.dumps(JSON),
        "macros/codecs.py": CODECS,
        "schemas/registry/of-avro.json": pin("of-avro", "AVRO", json.dumps(AVRO)),
        "schemas/registry/of-protobuf.json": pin("of-protobuf", "PROTOBUF", PROTO),
        "schemas/registry/of-json.json": pin("of-json", "JSON", json.dumps(JSON)),
        "models/more.yml": "sources:\n  - name: desk\n    topics:\n"
        + "".join(source(name, topic[0]) for name, topic in (TOPICS | SINGLE | TREES).items()),
        "schemas/tree.avsc": json.dumps(TREE),
        "schemas/tree.proto": TREE_PROTO,
        "schemas/tree.json": json.dumps(TREE_JSON),
    }
    for name, (_, sink) in TREES.items():
        files[f"models/copy_{name}.sql"] = (
            f"{{{{ config(materialized='sink'{', ' if sink else ''}{sink}) }}}}\n"
            f"select id, children from {{{{ source('desk', '{name}') }}}}"
        )
        files[f"models/read_{name}.sql"] = (
            f"select id, from_json(child, '{CHILDREN}').id as child, "
            f"size(from_json(child, '{CHILDREN}').children) as more "
            f"from {{{{ source('desk', '{name}') }}}} lateral view explode(children) as child"
        )
    for name, (_, sink, *_) in (TOPICS | SINGLE).items():
        columns = "value" if name in SINGLE else "id, name, at" if name == "csv" else "id, name, at, tags"
        config = f"{{{{ config(materialized='sink'{', ' if sink else ''}{sink}) }}}}"
        files[f"models/copy_{name}.sql"] = (
            f"{config}\nselect {columns} from {{{{ source('desk', '{name}') }}}}"
        )
    for path, text in files.items():
        (shop.root / path).parent.mkdir(parents=True, exist_ok=True)
        (shop.root / path).write_text(cleandoc(text) + "\n")
    cases = [case_of(name, topic) for name, topic in TOPICS.items()]
    cases += [single_case_of(name, topic) for name, topic in SINGLE.items()]
    cases += map(tree_case_of, TREES)
    verdicts = shop.judged("".join(cases))
    names = [*TOPICS, *SINGLE, *(f"{name}{end}" for name in TREES for end in ("", "_read"))]
    assert {
        name: verdict.diagnostics for name, verdict in zip(names, verdicts, strict=True)
    } == dict.fromkeys(names, ())
