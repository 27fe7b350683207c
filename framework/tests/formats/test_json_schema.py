"""Columns of JSON Schema. What a schema allows is decided by the library `jsonschema`, and decoded on Spark."""

import json

import pytest
from jsonschema import Draft7Validator

from millstream.core.types import Field, parse_type
from millstream.formats.format import SchemaError
from millstream.formats.json_schema import columns_of, columns_within_themselves
from millstream.formats.registry import NAMES, SCHEMA_SUFFIXES, Encoding, format_of
from millstream.formats.values import UnfitError


def columns(properties, **more):
    schema = {"type": "object", "properties": properties, **more}
    Draft7Validator.check_schema(schema)
    return columns_of(json.dumps(schema))


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "integer"}, "bigint"),
        ({"type": "integer", "connect.type": "int32"}, "int"),
        ({"type": "number"}, "double"),
        ({"type": ["integer", "number"]}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"type": ["null", "string"]}, "string"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "uuid"}, "string"),
        ({"type": "string", "contentEncoding": "base64"}, "binary"),
        ({"enum": ["a", "b", None]}, "string"),
        ({"const": 5}, "bigint"),
        ({"type": "array", "items": {"type": "integer"}}, "array<bigint>"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "map<string,double>"),
        ({"type": "object", "properties": {"b": {"type": "string"}}}, "struct<b:string>"),
        ({"properties": {"b": {"items": {"type": "boolean"}}}}, "struct<b:array<boolean>>"),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, "bigint"),
        ({"anyOf": [{"enum": ["x"]}, {"type": "string", "minLength": 3}]}, "string"),
        ({"$ref": "#/definitions/money~1eur"}, "double"),
        ({"allOf": [{"$ref": "#/definitions/one"}, {"properties": {"y": {"type": "integer"}}}]}, "struct<x:string,y:bigint>"),
        ({}, "string"),
        (True, "string"),
        ({"type": "string", "oneOf": [{"format": "date"}, {"format": "date-time"}]}, "string"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "double"),
        ({"anyOf": [{"type": "integer"}, {"const": None}]}, "bigint"),
        ({"oneOf": [{"enum": [None]}, {"type": "string"}]}, "string"),
        ({"oneOf": [{"type": "null"}]}, "string"),
        ({"properties": {"x": {"type": "integer"}}, "anyOf": [{"required": ["x"]}, {"minProperties": 1}]}, "struct<x:bigint>"),
        ({"oneOf": [{"$ref": "#/definitions/one"}, {"properties": {"y": {"type": "integer"}}}]}, "struct<x:string,y:bigint>"),
        ({"allOf": [{"properties": {"y": {"type": "integer"}}}, {"oneOf": [{"$ref": "#/definitions/one"}, {"type": "object"}]}]}, "struct<y:bigint,x:string>"),
        ({"oneOf": [{"properties": {"x": {"$ref": "#/definitions/one"}}}, {"properties": {"x": {"properties": {"z": {"type": "boolean"}}}}}, {"type": "null"}]}, "struct<x:struct<x:string,z:boolean>>"),
        ({"$ref": "#/definitions/a%20b"}, "boolean"),
        ({"$ref": "#named"}, "boolean"),
        ({"$ref": "#/definitions/list/allOf/1"}, "bigint"),
    ],
)  # fmt: skip
def test_a_schema_is_a_type(schema, type_):
    definitions = {
        "money/eur": {"type": "number"},
        "one": {"properties": {"x": {"type": "string"}}},
        "a b": {"$id": "#named", "type": "boolean"},
        "list": {"allOf": [{}, {"type": "integer"}]},
    }
    assert columns({"a": schema}, definitions=definitions) == (Field("a", parse_type(type_)),)


@pytest.mark.parametrize(
    ("schema", "field", "reason"),
    [
        ({"type": ["string", "integer"]}, "a", "its values have several types: string, integer"),
        ({"$ref": "#nowhere"}, "a", "'#nowhere' does not exist"),
        (
            {"oneOf": [{"properties": {"x": {"type": type_}}} for type_ in ("string", "boolean")]},
            "a.x",
            "its values have several types: string, boolean",
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "a",
            "its values have several types: string, bigint",
        ),
        ({"type": "array"}, "a", "an array needs one schema of its `items`"),
        ({"$ref": "#/definitions/loop"}, "a", "'#/definitions/loop' refers to itself, and says nothing else"),
        ({"items": {"$ref": "#/nowhere"}}, "a[]", "'#/nowhere' does not exist"),
        ({"$ref": "other.json"}, "a", "'other.json' is in another file"),
        ({"type": "object", "additionalProperties": False}, "a", "its objects have no properties"),
    ],
)
def test_what_no_column_holds_is_refused_at_its_field(schema, field, reason):
    with pytest.raises(SchemaError) as error:
        columns({"a": schema}, definitions={"loop": {"$ref": "#/definitions/loop"}})
    assert error.value.field == field
    assert reason in str(error.value)


NODE = {"type": "object", "properties": {"id": {"type": "integer"}, "next": {"$ref": "#/definitions/node"}}}
MAYBE = {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/node"}]}
RECURSIVE = [
    ({"a": {"$ref": "#/definitions/node"}}, "a struct<id: bigint, next: string>"),
    ({"a": {"type": "array", "items": {"$ref": "#"}}}, "a array<string>"),
    ({"a": {"properties": {"b": MAYBE}}}, "a struct<b: struct<id: bigint, next: string>>"),
    ({"a": {"allOf": [{"$ref": "#"}]}}, "a string"),
    ({"a": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}}, "a string"),
    ({"a": {"$ref": "#/definitions/alias"}}, "a struct<deep: map<string, string>>"),
]


@pytest.mark.parametrize(("properties", "expected"), RECURSIVE)
def test_what_is_within_itself_is_a_text(properties, expected):
    alias = {
        "properties": {"deep": {"type": "object", "additionalProperties": {"$ref": "#/definitions/other"}}}
    }
    definitions = {"node": NODE, "alias": alias, "other": {"$ref": "#/definitions/alias"}}
    name, type_ = expected.split(" ", 1)
    assert columns(properties, definitions=definitions) == (Field(name, parse_type(type_)),)
    text = json.dumps({"type": "object", "properties": properties, "definitions": definitions})
    assert columns_within_themselves(text) == ("a",)
    assert columns_within_themselves(json.dumps({"properties": {"a": {"type": "integer"}}})) == ()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"type": "string"}', '{"$ref": "#/x"}'])
def test_a_schema_describes_objects(text):
    with pytest.raises(SchemaError):
        columns_of(text)


PROPERTIES = {
    "sure": {"type": "integer"},
    "open": {"type": ["integer", "null"]},
    "perhaps": {"type": "integer"},
    "any": {},
}
OBJECTS = [
    {"sure": 1, "open": 2, "perhaps": 3, "any": 4},
    {"sure": 1, "open": None, "any": 4},
    {"sure": 1, "any": None},
    {"sure": None, "open": 1, "any": 4},
    {"open": 1, "any": 4},
    {"sure": 1, "open": "1", "any": 4},
    {"sure": 1, "open": 1},
]


def test_what_is_required_is_never_null():
    fields = columns(PROPERTIES, required=["sure", "any"])
    assert {field.name for field in fields if not field.nullable} == {"sure"}


def test_a_bad_value_of_a_required_field_is_one_that_the_schema_refuses(spark):
    schema = {"type": "object", "properties": PROPERTIES, "required": ["sure"]}
    judge = Draft7Validator(schema)
    values = [json.dumps(object_).encode() for object_ in OBJECTS]
    spark.createDataFrame([(v,) for v in values], "value binary").createOrReplaceTempView("objects")
    rows = format_of("json").spark.decode(columns_of(json.dumps(schema))).rows
    sql = "".join(piece if isinstance(piece, str) else piece.column for piece in rows)
    records = spark.sql(f"select value, d._bad from objects lateral view inline({sql}) d").collect()
    accepted = {bytes(row.value): row._bad is None for row in records}
    assert accepted == {v: judge.is_valid(object_) for v, object_ in zip(values, OBJECTS, strict=True)}


def test_suffixes_are_those_of_the_formats():
    languages = [format_of(name).schemas for name in NAMES]
    assert set(SCHEMA_SUFFIXES) == {language.suffix for language in languages if language is not None}


def test_the_id_of_a_schema_precedes_a_value():
    json_format = format_of(Encoding(framing="confluent", schema_id=258)).local
    record = json_format.encode({"a": 1}, ())
    assert record == b'\0\0\0\1\2{"a":1}'
    assert json_format.decode(record, ()) == {"a": 1}
    for bad in (b"", b"\0\0\0\1", b'{"a":1}'):
        with pytest.raises(UnfitError, match="zero byte and the id of a schema"):
            json_format.decode(bad, ())
