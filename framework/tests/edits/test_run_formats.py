"""Edits of formats and schemas, run: old and new records in one topic are read as a fresh build reads them."""

import io
import json

import fastavro
import pytest
from edits.test_edited_formats import proto
from edits.test_edited_projects import queries, succeeded, verdict_of
from edits.test_edited_states import PROFILES
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from support.runs import built, create_topics, errors, send, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Update
from millstream.formats.protobuf.compiler import compile_protos
from millstream.local.broker import shared_broker
from millstream.project.pins import Subject, encode_subject, version_of

pytestmark = SPARK_WARNINGS

A, B, C = "{name: a, type: int}", "{name: b, type: int}", "{name: c, type: int}"
SQL = "{{{{ config(materialized='table', unique_key='a') }}}} select a, sum(b) as total from {{{{ source('s', '{}') }}}} group by a"


def order(*fields):
    all_fields = [{"name": "a", "type": "int"}, *fields]
    return {"type": "record", "name": "R", "fields": all_fields}


def b(name="b", type_="int", **more):
    return {"name": name, "type": type_, **more}


OLDEST = order(b("b0"))
"""Written by a producer that did not know `b` yet."""


class Case:
    """An edit of a topic: what YAML says before and after, files, and records as values by turns."""

    def __init__(self, verdict, before, after, old, new, *, files=({}, {})):
        self.verdict, self.topic, self.files, self.records = verdict, (before, after), files, (old, new)


def csv(*rows):
    return [",".join(map(str, row)) for row in rows]


def jsons(*rows):
    return [json.dumps(dict(zip("abc", row, strict=False))) for row in rows]


def framed(id_, schema, *rows):
    values = []
    for row in rows:
        out = io.BytesIO()
        names = [field["name"] for field in schema["fields"]]
        fastavro.schemaless_writer(out, fastavro.parse_schema(schema), dict(zip(names, row, strict=True)))
        values.append(b"\0" + id_.to_bytes(4, "big") + out.getvalue())
    return values


def pins(topic, *schemas):
    versions = tuple(version_of(n, n, "AVRO", json.dumps(schema)) for n, schema in enumerate(schemas, 1))
    subject = f"{topic}-value"
    return {f"schemas/registry/{subject}.json": encode_subject(Subject(subject, "NONE", versions))}


def messages(folder, text, *rows):
    (folder / "r.proto").write_text(text)
    pool = descriptor_pool.DescriptorPool()
    for file in FileDescriptorSet.FromString(compile_protos(["r.proto"], [folder])).file:
        pool.Add(file)
    message_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("R"))
    return [message_class(**dict(zip("abc", row, strict=False))).SerializeToString() for row in rows]


def cases(folder):
    """Return edits by the name of their topic."""
    registry = "schema: registry"

    def avro(name, verdict, before, after, *, new=((1, 100), (3, 7))):
        return Case(
            verdict,
            registry,
            registry,
            framed(1, OLDEST, (1, 10), (2, 20)) + framed(2, before, (1, 1), (2, 2)),
            framed(3, after, *new) + framed(1, OLDEST, (3, 30)),
            files=(pins(name, OLDEST, before), pins(name, OLDEST, before, after)),
        )

    def protobuf(name, verdict, before, after):
        path = f"schemas/{name}.proto"
        topic = f"format: protobuf, schema: {path}"
        old = messages(folder, before, (1, 10, 5), (2, 20, 6))
        new = messages(folder, after, (1, 100, 7), (20, 7, 8))
        return Case(verdict, topic, topic, old, new, files=({path: before}, {path: after}))

    return {
        "csv_position": Case("rebuild", f"format: csv, columns: [{A}, {B}, {C}]", f"format: csv, columns: [{B}, {A}, {C}]", csv((1, 10, 0), (2, 20, 0)), csv((100, 1, 0), (7, 3, 0))),
        "csv_renamed": Case("same", f"format: csv, columns: [{A}, {B}, {C}]", f"format: csv, columns: [{A}, {B}, {{name: d, type: string}}]", csv((1, 10, 0), (2, 20, 0)), csv((1, 100, "x"), (3, 7, "y"))),
        "json_wider": Case("rebuild", f"columns: [{A}, {B}]", f"columns: [{A}, {{name: b, type: bigint}}]", jsons((1, 10), (2, 20)), jsons((1, 2**40), (3, 7))),
        "json_more": Case("same", f"columns: [{A}, {B}]", f"columns: [{A}, {B}, {C}]", jsons((1, 10), (2, 20)), jsons((1, 100, 5), (3, 7, 5))),
        "avro_default": avro("avro_default", "rebuild", order(b(default=5)), order(b(default=7))),
        "avro_alias": avro("avro_alias", "rebuild", order(b(default=0)), order(b(default=0, aliases=["b0"]))),
        "avro_unread": avro("avro_unread", "same", order(b(default=0)), order(b(default=0), b("c", default=1)), new=((1, 100, 3), (3, 7, 4))),
        "avro_wider": avro("avro_wider", "rebuild", order(b(default=0)), order(b(type_="long", default=0)), new=((1, 2**40), (3, 7))),
        "proto_numbers": protobuf("proto_numbers", "rebuild", proto(1, 2), proto(2, 1)),
        "proto_unread": protobuf("proto_unread", "same", proto(1, 2), proto(1, 2, 4)),
    }  # fmt: skip


def write(shop, formats, side):
    shop.write("profiles.yml", PROFILES)
    topics = ", ".join(f"{{name: {name}, {case.topic[side]}}}" for name, case in formats.items())
    shop.write("models/s.yml", f"sources: [{{name: s, topics: [{topics}]}}]")
    for name, case in formats.items():
        shop.model(f"of_{name}", SQL.format(name))
        for path, text in case.files[side].items():
            shop.write(path, text)


def test_the_verdicts(tmp_path):
    shop, formats = Shop(tmp_path / "shop", ""), cases(tmp_path)
    write(shop, formats, 0)
    before = queries(shop)
    write(shop, formats, 1)
    after = queries(shop)
    verdicts = {name: verdict_of(before, after, f"model.of_{name}") for name in formats}
    assert verdicts == {name: case.verdict for name, case in formats.items()}


@pytest.mark.long
def test_old_and_new_records_have_the_rows_of_a_fresh_build(tmp_path, first_spark):
    with shared_broker(tmp_path) as starting:
        shop, formats = Shop(tmp_path, starting.ready().address), cases(tmp_path)
        write(shop, formats, 0)
        create_topics(shop.bootstrap, *formats, partitions=1)
        send(
            shop.bootstrap,
            {name: [("k", value) for value in case.records[0]] for name, case in formats.items()},
        )
        succeeded(built(shop.root, first_spark)[0])

        write(shop, formats, 1)
        send(
            shop.bootstrap,
            {name: [("k", value) for value in case.records[1]] for name, case in formats.items()},
        )
        results, events = built(shop.root, first_spark)
        refused = {result.id for result in results.results if result.status in {"error", "skipped"}}
        assert refused == {f"model.of_{name}" for name, case in formats.items() if case.verdict != "same"}
        assert {diagnostic.code for diagnostic in errors(events)} <= {"MS870", "MS871", "MS880"}
        succeeded(built(shop.root, first_spark, intent=Update(frozenset(refused)))[0])
        succeeded(built(shop.root, first_spark, target="fresh")[0])
        for name in formats:
            assert totals(shop, name, "local") == totals(shop, name, "fresh"), name

        # What Avro's own rules, a number of Protobuf, a position in CSV and a wider type mean for old records.
        expected = {
            "csv_position": {10: 1, 20: 2, 1: 100, 3: 7},
            "json_wider": {1: 10 + 2**40, 2: 20, 3: 7},
            "avro_default": {1: 7 + 1 + 100, 2: 7 + 2, 3: 7 + 7},
            "avro_alias": {1: 10 + 1 + 100, 2: 20 + 2, 3: 7 + 30},
            "avro_wider": {1: 1 + 2**40, 2: 2, 3: 7},
            "proto_numbers": {10: 1, 20: 2 + 7, 1: 100},
            "proto_unread": {1: 110, 2: 20, 20: 7},
        }
        assert {name: totals(shop, name, "local") for name in expected} == expected


def totals(shop, name, target):
    return {row["a"]: row["total"] for row in table_rows(shop.root, f"model.of_{name}", target)}
