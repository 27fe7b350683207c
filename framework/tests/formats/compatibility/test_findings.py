"""What is reported of two versions of a schema, in plain English."""

import json

import pytest
from support.schema_cases import CLOSED, INTEGER, STRING, field, object_, proto, record

from millstream.formats.compatibility import compare_schemas, find_incompatibilities, level_of
from millstream.formats.format import SchemaError, SchemaFiles

SUFFIXES = {"avro": ".avsc", "json": ".json", "protobuf": ".proto"}


def files(format_, text):
    return SchemaFiles(f"s{SUFFIXES[format_]}", {f"s{SUFFIXES[format_]}": text})


def findings(format_, old, new, level="FULL"):
    return [
        finding.text
        for finding in find_incompatibilities(format_, files(format_, new), {1: files(format_, old)}, level)
    ]


NESTED = {"type": "record", "name": "Price", "fields": [field("amount", "double")]}
TEXTS = {"type": "record", "name": "Price", "fields": [field("amount", "string")]}


@pytest.mark.parametrize(
    ("format_", "old", "new", "texts"),
    [
        ("avro", record(), record(field("total", "long")), ["field total: old records lack it, and the new schema has no default, so new readers can't read old records"]),
        ("avro", record(field("total", "long")), record(), ["field total: new records lack it, and the old schema has no default, so old readers can't read new records"]),
        ("avro", record(field("total", "int")), record(field("total", "long")), ["field total: it is int in the old schema, but long in the new one, so old readers can't read new records"]),
        (
            "avro",
            record(field("prices", {"type": "array", "items": ["null", NESTED]})),
            record(field("prices", {"type": "array", "items": ["null", TEXTS]})),
            [
                "field prices[].amount: it is string in the new schema, but double in the old one, so new readers can't read old records",
                "field prices[].amount: it is double in the old schema, but string in the new one, so old readers can't read new records",
            ],
        ),
        ("avro", record(field("a", ["null", "int"])), record(field("a", "int")), ["field a: it is int in the new schema, but null in the old one, so new readers can't read old records"]),
        ("json", object_({"total": INTEGER}), object_({"total": INTEGER}, required=["total"]), ["field total: it is required in the new schema, but not in the old one, so new readers can't read old records"]),
        ("json", object_({"a": STRING, "b": STRING}, **CLOSED), object_({"a": STRING}, **CLOSED), ["field b: the new schema lacks it and allows no additional properties, so new readers can't read old records"]),
        ("json", object_({"a": {**STRING, "maxLength": 9}}), object_({"a": {**STRING, "maxLength": 5}}), ["field a: its maxLength is 5 in the new schema, but 9 in the old one, so new readers can't read old records"]),
        (
            "json",
            object_({"a": {"type": "array", "items": {"type": "object", "properties": {"x": STRING}}}}),
            object_({"a": {"type": "array", "items": {"type": "object", "properties": {"x": INTEGER}}}}),
            [
                "field a[].x: it is an integer in the new schema, but a string in the old one, so new readers can't read old records",
                "field a[].x: it is a string in the old schema, but an integer in the new one, so old readers can't read new records",
            ],
        ),
        (
            "protobuf",
            proto("message A { int32 total = 1; }"),
            proto("message A { double total = 1; }"),
            [
                "field A.total: it is double in the new schema, but int32 in the old one, so new readers can't read old records",
                "field A.total: it is int32 in the old schema, but double in the new one, so old readers can't read new records",
            ],
        ),
        ("protobuf", proto("message A {} message B {}"), proto("message A {}"), ["field B: the new schema lacks the message B, so new readers can't read old records"]),
    ],
)  # fmt: skip
def test_texts(format_, old, new, texts):
    assert findings(format_, old, new) == texts


def test_only_what_the_level_forbids():
    old, new = record(field("total", "int")), record(field("total", "long"))
    assert findings("avro", old, new, "BACKWARD") == []
    assert len(findings("avro", old, new, "FORWARD")) == 1
    assert findings("avro", old, new, "NONE") == []


def test_the_newest_version_or_all_of_them():
    versions = {1: files("avro", record()), 2: files("avro", record(field("a", "int", default=1)))}
    new = files("avro", record(field("a", "int")))
    assert find_incompatibilities("avro", new, versions, "BACKWARD") == ()
    (finding,) = find_incompatibilities("avro", new, versions, "BACKWARD_TRANSITIVE")
    assert (finding.path, finding.version) == ("a", 1)


def test_an_unknown_level_is_taken_as_the_strictest():
    assert level_of("BACKWARD") == "BACKWARD"
    assert level_of("SIDEWAYS") == "FULL_TRANSITIVE"


MODERN = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        ({"a": {"type": "array", "prefixItems": [STRING]}}, {"a": {"type": "array", "prefixItems": [INTEGER]}}, {"type_changed"}),
        ({"a": {"type": "array", "prefixItems": [STRING], "items": False}}, {"a": {"type": "array", "prefixItems": [STRING, STRING], "items": False}}, set()),
        ({"a": {"type": "array", "items": STRING}}, {"a": {"type": "array", "items": INTEGER}}, {"type_changed"}),
    ],
)  # fmt: skip
def test_draft_2020_12(old, new, rules):
    """The local registry does not know this draft; these are Confluent's verdicts."""
    one, other = (files("json", object_(schema, **MODERN)) for schema in (old, new))
    assert {
        difference.rule for difference in compare_schemas("json", other, one, "backward") if difference.breaks
    } == rules


def test_unevaluated_properties_close_an_object():
    open_, closed = (
        object_({"a": STRING}, **MODERN, **more) for more in ({}, {"unevaluatedProperties": False})
    )
    assert findings("json", open_, closed, "BACKWARD")
    assert findings("json", closed, open_, "BACKWARD") == []


def test_many_records_that_share_types_are_compared_once():
    types = ["int"]
    for number in range(40):
        types = [field("a", types), field("b", f"R{number - 1}" if number else "int")] if number else types
        types = {"type": "record", "name": f"R{number}", "fields": types if number else [field("x", "int")]}
    schema = json.dumps(types)
    assert (
        findings("avro", schema, schema.replace('"x", "type": "int"', '"x", "type": "long"'), "BACKWARD")
        == []
    )


@pytest.mark.parametrize(
    ("format_", "text"),
    [("avro", "{"), ("json", "{"), ("json", '{"$ref": "#/nowhere"}'), ("json", '{"type": "text"}'), ("protobuf", "message")],
)  # fmt: skip
def test_what_is_not_a_schema(format_, text):
    with pytest.raises(SchemaError):
        findings(format_, text, text)
