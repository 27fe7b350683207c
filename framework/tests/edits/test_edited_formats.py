"""Edits of formats and schemas after which old records are read differently, although no type changes."""

import json

import pytest
from edits.test_edited_projects import queries
from support.shops import Shop

from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.stages import judge_checkpoint

SOURCE = "sources: [{{name: s, topics: [{{name: pairs, {}}}]}}]"
CSV = "format: csv, columns: [{}]"
SUFFIXES = {"avro": "avsc", "protobuf": "proto"}
A, B, C = "{name: a, type: int}", "{name: b, type: int}", "{name: c, type: int}"


def avro(**more):
    fields = [{"name": name, "type": "int"} for name in ("a", "b")]
    fields.append({"name": "c", "type": "int", "doc": "unused"})
    for name, value in more.items():
        fields["abc".index(name)] |= value
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def ordered(*names):
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": n, "type": "int"} for n in names]})


def nested(*names):
    inner = {"type": "record", "name": "I", "fields": [{"name": n, "type": "int"} for n in names]}
    return avro(a={"type": inner})


def symbols(*names):
    return avro(a={"type": {"type": "enum", "name": "E", "symbols": names}})


def days(logical):
    return avro(a={"type": {"type": "long", "logicalType": logical}})


def proto(a, b, c=3):
    return f'syntax = "proto3"; message R {{ int32 a = {a}; int32 b = {b}; int32 c = {c}; }}'


@pytest.mark.parametrize(
    ("before", "after", "verdict", "reason"),
    [
        (CSV.format(f"{A}, {B}, {C}"), CSV.format(f"{B}, {A}, {C}"), "rebuild", "the position of s.pairs.a is 2 instead of 1"),
        (CSV.format(f"{A}, {B}, {C}"), CSV.format(f"{A}, {B}"), "same", ""),
        (CSV.format(f"{A}, {B}"), CSV.format(f"{A}, {B}") + ", format_options: {delimiter: ';'}", "mixed", "the SQL upstream"),
        (f"columns: [{A}, {B}]", f"columns: [{A}, {B}], decoding: lenient", "mixed", "the SQL upstream"),
        (avro(), avro(a={"default": 1}), "rebuild", "the default of s.pairs.a is 1 instead of none"),
        (avro(), avro(a={"aliases": ["old"]}), "rebuild", "the aliases of s.pairs.a is old instead of none"),
        (avro(), avro(c={"doc": "other", "default": 5}), "same", ""),
        (avro(), ordered("b", "a", "c"), "rebuild", "the preceding fields of s.pairs.a changed"),
        (avro(), ordered("a", "c", "b"), "rebuild", "the preceding fields of s.pairs.b changed"),
        (avro(), ordered("c", "b", "a"), "rebuild", "the preceding fields of s.pairs.a changed"),
        (avro(), ordered("a", "b", "d"), "same", ""),
        (avro(), ordered("a", "b", "c", "d"), "same", ""),
        (avro(c={"type": "long"}), ordered("c", "a", "b"), "rebuild", "the preceding fields of s.pairs.a changed"),
        (nested("x", "y"), nested("y", "x"), "rebuild", "key is `a struct<y:int,x:int> not null`"),
        (symbols("U", "V"), symbols("V", "U"), "rebuild", "the schema of s.pairs.a changed"),
        (avro(a={"type": ["null", "int"]}), avro(a={"type": ["int", "null"]}), "rebuild", "the schema of s.pairs.a changed"),
        (days("timestamp-millis"), days("timestamp-micros"), "rebuild", "the schema of s.pairs.a changed"),
        (proto(1, 2), proto(2, 1), "rebuild", "the number of s.pairs.a is 2 instead of 1"),
        (proto(1, 2), proto(1, 2, 4), "same", ""),
    ],
)  # fmt: skip
def test_how_old_records_are_read(tmp_path, before, after, verdict, reason):
    shop = Shop(tmp_path, "")
    shop.model(
        "sums",
        "{{ config(materialized='table', unique_key='a') }} "
        "select a, sum(b) as total from {{ source('s', 'pairs') }} group by a",
    )
    versions = []
    for text in (before, after):
        name = {"{": "avro", "s": "protobuf"}.get(text[0])
        if name is not None:
            shop.write(f"schemas/r.{SUFFIXES[name]}", text)
        topic = f"format: {name}, schema: schemas/r.{SUFFIXES[name]}" if name else text
        shop.write("models/s.yml", SOURCE.format(topic))
        versions.append(queries(shop)["model.sums"])
    actual = judge_checkpoint(versions[1], new_record("", versions[0], {}), Deployed({}))
    assert actual.kind == verdict, actual
    assert reason in " ".join(actual.reasons)


@pytest.mark.parametrize(
    ("format_", "before", "after"),
    [
        ("protobuf", proto(1, 2), proto(2, 1)),
        ("avro", avro(a={"default": 1}), avro(a={"default": 2})),
    ],
)
def test_how_old_keys_are_read(tmp_path, format_, before, after):
    shop = Shop(tmp_path, "")
    path = f"schemas/k.{SUFFIXES[format_]}"
    key = f"key: {{name: k, format: {format_}, schema: {path}}}"
    shop.write("models/s.yml", SOURCE.format(f"{key}, columns: [{B}]"))
    shop.model(
        "sums",
        "{{ config(materialized='table', unique_key='a') }} "
        "select k.a as a, sum(b) as total from {{ source('s', 'pairs') }} group by k.a",
    )
    value = f"name: more, format: {format_}, schema: {path}"
    shop.write("models/more.yml", f"sources: [{{name: more, topics: [{{{value}}}]}}]")
    shop.model(
        "rows",
        "{{ config(materialized='table', unique_key='_offset') }} "
        "select a, _offset from {{ source('more', 'more') }}",
    )
    versions = []
    for text in (before, before, after):
        shop.write(path, text)
        versions.append(queries(shop)["model.sums"])
    verdicts = [
        judge_checkpoint(version, new_record("", versions[0], {}), Deployed({})).kind for version in versions
    ]
    assert verdicts == ["same", "same", "rebuild"]


@pytest.mark.parametrize(
    ("on_bad", "verdict"), [("fail", "same"), ("skip", "mixed"), ("dead_letter", "mixed")]
)
def test_a_field_more_makes_old_records_bad(tmp_path, on_bad, verdict):
    shop = Shop(tmp_path, "")
    shop.model(
        "sums",
        "{{ config(materialized='table', unique_key='a') }} "
        "select a, sum(b) as total from {{ source('s', 'pairs') }} group by a",
    )
    shop.write(
        "models/s.yml", SOURCE.format(f"format: avro, schema: schemas/r.avsc, on_bad_record: {on_bad}")
    )
    versions = []
    for text in (ordered("a", "b"), ordered("a", "b", "c")):
        shop.write("schemas/r.avsc", text)
        versions.append(queries(shop)["model.sums"])
    assert judge_checkpoint(versions[1], new_record("", versions[0], {}), Deployed({})).kind == verdict
