"""A source gains, loses, widens and renames fields, in each format: old and new records are read in one batch, over kept state."""

import io
import json
from xml.etree import ElementTree as ET

import fastavro
import pytest
from msgspec import Struct
from support.protobufs import messages_of
from support.runs import built, create_topics, errors, received, send, statuses, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Update
from millstream.project.pins import Subject, encode_subject, version_of

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

OLD_PROTO = 'syntax = "proto3"; message R { optional int64 id = 1; optional int32 amount = 2; optional string title = 3; optional string gone = 4; }'
NEW_PROTO = 'syntax = "proto3"; message R { optional int64 id = 1; optional int64 amount = 2; optional string heading = 3; optional string note = 5; }'


def avro_fields(**types):
    return [{"name": name, "type": type_} for name, type_ in types.items()]


OPTIONAL = ["null", "string"]
OLD_AVRO = {
    "type": "record",
    "name": "R",
    "fields": avro_fields(id="long", amount="int", title=OPTIONAL, gone="string"),
}
NEW_AVRO = {
    "type": "record",
    "name": "R",
    "fields": [
        *avro_fields(id="long", amount="long"),
        {"name": "heading", "type": OPTIONAL, "aliases": ["title"]},
        {"name": "note", "type": OPTIONAL, "default": None},
    ],
}
JSON_TYPES = {
    "string": {"type": ["null", "string"]},
    "bigint": {"type": "integer"},
    "int": {"type": "integer", "connect.type": "int32"},
}
OLD = {"id": "bigint", "amount": "int", "title": "string", "gone": "string"}
NEW = {"id": "bigint", "amount": "bigint", "heading": "string", "title": "string", "note": "string"}
"""Formats without aliases keep the old name of a field that is renamed."""


def json_schema(types):
    return {"type": "object", "properties": {name: JSON_TYPES[type_] for name, type_ in types.items()}}


def columns(types):
    return f"columns: [{', '.join(f'{{name: {name}, type: {type_}}}' for name, type_ in types.items())}]"


def as_csv(row):
    return "\n".join(
        (";".join(row), ";".join("" if value is None else str(value) for value in row.values()))
    ).encode()


def as_xml(row):
    element = ET.Element("r")
    for name, value in row.items():
        if value is not None:
            ET.SubElement(element, name).text = str(value)
    return ET.tostring(element)


def as_soap(row):
    return b"<Envelope><Body>" + as_xml(row) + b"</Body></Envelope>"


def framed(id_, write, indexes=b""):
    return lambda row: b"\0" + id_.to_bytes(4, "big") + indexes + write(row)


def as_avro(schema, id_):
    def written(row):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
        return out.getvalue()

    return framed(id_, written)


def as_json(row):
    return json.dumps(row).encode()


def present(write):
    """Write what is not None."""
    return lambda row: write(
        **{name: value for name, value in row.items() if value is not None}
    ).SerializeToString()


OLD_KEY = {"type": "record", "name": "K", "fields": avro_fields(number="int")}
NEW_KEY = {
    "type": "record",
    "name": "K",
    "fields": [
        {"name": "region", "type": "string", "default": "eu"},
        {"name": "id", "type": "long", "aliases": ["number"]},
    ],
}
OLD_CODEC = """
from dataclasses import dataclass


@dataclass
class Row:
    id: int
    amount: Annotated[int, "int"]
    title: str | None
    gone: str


def decode_row(value: bytes) -> Row:
    id_, amount, title, gone = value.decode().split("|")
    return Row(int(id_), int(amount), title or None, gone)
"""
NEW_CODEC = """
from dataclasses import dataclass


@dataclass
class Row:
    id: int
    amount: int
    heading: str | None
    note: str | None


def decode_row(value: bytes) -> Row:
    if value.startswith(b"2:"):
        id_, amount, heading, note = value[2:].decode().split("|")
        return Row(int(id_), int(amount), heading or None, note or None)
    id_, amount, title, _ = value.decode().split("|")
    return Row(int(id_), int(amount), title or None, None)
"""


def as_text(start=""):
    """Write rows as the function above reads them."""
    return lambda row: (
        start + "|".join("" if value is None else str(value) for value in row.values())
    ).encode()


def columns_without_id(types):
    """Return columns of values, and one that is computed from the key."""
    return columns({name: type_ for name, type_ in types.items() if name != "id"})[:-1]


class Case(Struct):
    old: str
    """What the source says of its topic, before and after."""
    new: str
    write_old: object
    write_new: object
    files_old: dict = {}
    files_new: dict = {}
    key_old: object = None
    """Writes a row's key; it is `k` by default."""
    key_new: object = None
    alias: bool = False
    """A column that is renamed has a new name for old records, too."""
    state: bool = True
    """Tables are computed from it, too."""


def pins_of(subject, kind, *versions):
    """Return the file of a subject, with versions of ids and schemas."""
    pinned = [version_of(number, id_, kind, text) for number, (id_, text) in enumerate(versions, 1)]
    return {f"schemas/registry/{subject}.json": encode_subject(Subject(subject, "NONE", tuple(pinned)))}


def cases(folder):
    old = messages_of(folder / "old", {"r.proto": OLD_PROTO})("R")
    new = messages_of(folder / "new", {"r.proto": NEW_PROTO})("R")
    avros = [(7, json.dumps(OLD_AVRO)), (8, json.dumps(NEW_AVRO))]
    keys = [(17, json.dumps(OLD_KEY)), (18, json.dumps(NEW_KEY))]
    jsons = [(27, json.dumps(json_schema(OLD))), (28, json.dumps(json_schema(NEW)))]
    start, _, message = NEW_PROTO.partition(";")
    protos = [(37, OLD_PROTO), (38, f"{start}; message Other {{ int32 x = 1; }} {message}")]
    csv = "format: csv, format_options: {delimiter: ';', header: true}, "
    return {
        "json": Case(columns(OLD), columns(NEW), as_json, as_json),
        "json_schema": Case(
            "schema: schemas/r.json", "schema: schemas/r.json", as_json, as_json,
            {"schemas/r.json": json.dumps(json_schema(OLD))}, {"schemas/r.json": json.dumps(json_schema(NEW))},
        ),
        "csv": Case(csv + columns(OLD), csv + columns(NEW), as_csv, as_csv),
        "xml": Case(f"format: xml, {columns(OLD)}", f"format: xml, {columns(NEW)}", as_xml, as_xml),
        "avro": Case(
            "schema: registry", "schema: registry", as_avro(OLD_AVRO, 7), as_avro(NEW_AVRO, 8),
            pins_of("avro-value", "AVRO", *avros[:1]), pins_of("avro-value", "AVRO", *avros), alias=True,
        ),
        "protobuf": Case(
            "format: protobuf, schema: schemas/r.proto", "format: protobuf, schema: schemas/r.proto",
            present(old), present(new), {"schemas/r.proto": OLD_PROTO}, {"schemas/r.proto": NEW_PROTO}, alias=True,
        ),
        "json_framed": Case(
            "schema: registry", "schema: registry", framed(27, as_json), framed(28, as_json),
            pins_of("json_framed-value", "JSON", *jsons[:1]), pins_of("json_framed-value", "JSON", *jsons), state=False,
        ),
        "protobuf_framed": Case(
            # The message is the second one of the newer file.
            "schema: registry", "schema: registry, message: R", framed(37, present(old), b"\0"), framed(38, present(new), b"\2\2"),
            pins_of("protobuf_framed-value", "PROTOBUF", *protos[:1]), pins_of("protobuf_framed-value", "PROTOBUF", *protos),
            alias=True, state=False,
        ),
        "soap": Case(
            f"format: xml, format_options: {{envelope: Envelope/Body, row_tag: r}}, {columns(OLD)}",
            f"format: xml, format_options: {{envelope: Envelope/Body, row_tag: r}}, {columns(NEW)}", as_soap, as_soap, state=False,
        ),
        "function": Case(
            "format: python:decode_row", "format: python:decode_row", as_text(), as_text("2:"),
            {"macros/codecs.py": "from typing import Annotated" + OLD_CODEC}, {"macros/codecs.py": NEW_CODEC}, alias=True,
        ),
        "avro_key": Case(
            f"key: {{name: k, format: avro, schema: registry}}, {columns_without_id(OLD)}, {{name: id, type: bigint, from: 'cast(k.number as bigint)'}}]",
            f"key: {{name: k, format: avro, schema: registry}}, {columns_without_id(NEW)}, {{name: id, type: bigint, from: k.id}}]",
            as_json, as_json, pins_of("avro_key-key", "AVRO", *keys[:1]), pins_of("avro_key-key", "AVRO", *keys),
            key_old=lambda row: as_avro(OLD_KEY, 17)({"number": row["id"]}),
            key_new=lambda row: as_avro(NEW_KEY, 18)({"region": "us", "id": row["id"]}),
        ),
    }  # fmt: skip


def old_rows(first):
    return [
        {"id": number % 3, "amount": number, "title": f"old {number}" if number % 4 else None, "gone": "x"}
        for number in range(first, first + 5)
    ]


def new_rows(first):
    rows = [
        {
            "id": number % 3,
            "amount": number + 2**40,
            "heading": f"new {number}",
            "note": "n" if number % 2 else None,
        }
        for number in range(first, first + 5)
    ]
    return [*rows, {"id": 1, "amount": -1, "heading": None, "note": None}]


def write(shop, formats, *, new):
    topics = ""
    for name, case in formats.items():
        topics += (
            f"  - {{name: {name}, {'' if case.key_old else 'key: k, '}{case.new if new else case.old}}}\n"
        )
        for path, text in (case.files_new if new else case.files_old).items():
            shop.write(path, text)
        source = f"from {{{{ source('web', '{name}') }}}}"
        title = "title" if not new else "heading" if case.alias else "coalesce(heading, title)"
        note = ", note" if new else ""
        shop.model(
            f"{name}_rows",
            f"{{{{ config(materialized='sink') }}}} select id, amount, {title} as title{note} {source}",
        )
        if not case.state:
            continue
        shop.model(
            f"{name}_totals",
            "{{ config(materialized='table', unique_key='id', unbounded_state='accept') }} "
            f"select id, sum(amount) as total {source} group by id",
        )
        shop.model(
            f"{name}_counts",
            "{{ config(materialized='table', unique_key='id', unbounded_state='accept') }} "
            f"select id, count(*) as n {source} group by id",
        )
    shop.write("models/web.yml", f"sources:\n- name: web\n  topics:\n{topics}")


def old_records(case, rows):
    return [(case.key_old(row) if case.key_old else "k", case.write_old(row)) for row in rows]


def new_records(case, rows):
    return [(case.key_new(row) if case.key_new else "k", case.write_new(row)) for row in rows]


def mixed(old, new):
    """Old and new records in turn."""
    return [record for pair in zip(old, new, strict=False) for record in pair] + new[len(old) :]


def test_old_and_new_records_in_one_batch(shop, first_spark, tmp_path_factory):
    formats = cases(tmp_path_factory.mktemp("protos"))
    create_topics(shop.bootstrap, *formats, partitions=1)
    write(shop, formats, new=False)
    first, second, later = old_rows(0), old_rows(10), new_rows(20)
    send(shop.bootstrap, {name: old_records(case, first) for name, case in formats.items()})
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert set(statuses(results).values()) == {"success"}

    write(shop, formats, new=True)
    send(
        shop.bootstrap,
        {name: mixed(old_records(case, second), new_records(case, later)) for name, case in formats.items()},
    )
    # Sums of a column that is wider now are another state. Counts keep theirs, unless their key is computed in another
    # way, or share a query with sums of which the older version can't be planned with the new function.
    others = {NodeId("model", "avro_key_counts"), NodeId("model", "function_counts")}
    stateful = [name for name, case in formats.items() if case.state]
    rebuild = Update(frozenset(others | {NodeId("model", f"{name}_totals") for name in stateful}))
    results, events = built(shop.root, first_spark, intent=rebuild)
    assert errors(events) == []
    assert set(statuses(results).values()) == {"success"}
    expected = [
        *({"id": row["id"], "amount": row["amount"], "title": row["title"]} for row in first),
        *mixed(
            [
                {"id": row["id"], "amount": row["amount"], "title": row["title"], "note": None}
                for row in second
            ],
            [
                {"id": row["id"], "amount": row["amount"], "title": row["heading"], "note": row["note"]}
                for row in later
            ],
        ),
    ]
    amounts = {}
    for row in expected:
        amounts.setdefault(row["id"], []).append(row["amount"])
    for name in formats:
        rows = [json.loads(record.value()) for record in received(shop.bootstrap, f"{name}_rows")]
        # NULL fields are omitted from JSON.
        assert rows == [{k: v for k, v in row.items() if v is not None} for row in expected], name
    for name in stateful:
        totals = {row["id"]: row["total"] for row in table_rows(shop.root, f"model.{name}_totals")}
        assert totals == {id_: sum(values) for id_, values in amounts.items()}, name
        counts = {row["id"]: row["n"] for row in table_rows(shop.root, f"model.{name}_counts")}
        assert counts == {id_: len(values) for id_, values in amounts.items()}, name
