"""Columns of Avro's schemas, and schemas of columns."""

import json

import fastavro
import pytest

from millstream.core.types import INTERVAL, VARIANT, Field, parse_type
from millstream.formats.avro.codec import AvroEncoding, local_codec
from millstream.formats.avro.columns import columns_of, schema_of
from millstream.formats.avro.parse import parse_schema, schema_essence
from millstream.formats.format import SchemaError


def record(*fields, **more):
    written = [{"name": name, "type": of, **rest} for name, of, rest in ((*f, {})[:3] for f in fields)]
    return {"type": "record", "name": "shop.Order", "fields": written, **more}


def logical(of, kind, **more):
    return {"type": of, "logicalType": kind, **more}


def columns(schema):
    return ", ".join(map(str, columns_of(parse_schema(json.dumps(schema)))))


TYPES = [
    ("boolean", "boolean"),
    ("int", "int"),
    ("long", "bigint"),
    ("float", "float"),
    ("double", "double"),
    ("string", "string"),
    ("bytes", "binary"),
    ("null", "void"),
    ({"type": "int"}, "int"),
    ({"type": "fixed", "name": "f", "size": 3}, "binary"),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, "string"),
    (logical("bytes", "decimal", precision=9, scale=2), "decimal(9,2)"),
    (logical("bytes", "decimal", precision=9), "decimal(9,0)"),
    (logical("fixed", "decimal", precision=4, size=2, name="f"), "decimal(4,0)"),
    (logical("int", "date"), "date"),
    (logical("int", "time-millis"), "int"),
    (logical("long", "time-micros"), "bigint"),
    (logical("long", "timestamp-millis"), "timestamp"),
    (logical("long", "timestamp-micros"), "timestamp"),
    (logical("long", "timestamp-nanos"), "bigint"),
    (logical("long", "local-timestamp-millis"), "timestamp_ntz"),
    (logical("long", "local-timestamp-micros"), "timestamp_ntz"),
    (logical("string", "uuid"), "string"),
    (logical("string", "date"), "string"),
    (logical("fixed", "duration", size=12, name="d"), "binary"),
    ({"type": "array", "items": ["null", "int"]}, "array<int>"),
    ({"type": "map", "values": "long"}, "map<string,bigint>"),
    (["null", "string"], "string"),
    (["string", "null"], "string"),
    (["null"], "void"),
    (["int", "long"], "bigint"),
    (["null", "double", "float"], "double"),
    (["null", "int", "string"], "struct<member0:int,member1:string>"),
    (["int", "long", "string"], "struct<member0:int,member1:bigint,member2:string>"),
    ({**record(("b", "int")), "name": "Inner"}, "struct<b:int>"),
]


@pytest.mark.parametrize(("of", "type_"), TYPES)
def test_types(of, type_):
    assert columns(record(("a", of))) == f"a:{type_}"


def test_a_type_that_is_used_twice_in_a_namespace():
    inner = {"type": "record", "name": "Item", "fields": [{"name": "b", "type": "int"}]}
    schema = record(("a", inner), ("c", ["null", "Item"]), ("d", {"type": "array", "items": "shop.Item"}))
    assert columns(schema) == "a:struct<b:int>, c:struct<b:int>, d:array<struct<b:int>>"


def test_a_schema_that_is_not_a_record_is_one_column():
    assert columns("string") == "value:string"
    assert columns_of(parse_schema('["null", "long"]'), "id") == (Field("id", parse_type("bigint")),)


def test_columns_that_can_not_be_null():
    fields = columns_of(
        parse_schema(
            json.dumps(record(("a", "int"), ("b", ["int", "null"]), ("c", ["int", "string"]), ("d", "null")))
        )
    )
    assert [field.nullable for field in fields] == [False, True, False, True]
    assert not columns_of(parse_schema('"int"'))[0].nullable


def test_a_record_within_itself_is_a_text():
    items = {
        "type": "record",
        "name": "Item",
        "fields": [{"name": "of", "type": "Order"}, {"name": "n", "type": "int"}],
    }
    many = {"type": "array", "items": "Order"}
    schema = record(
        ("next", ["null", "Order"]), ("many", many), ("item", items), ("other", ["int", "Order", "null"])
    )
    assert columns(schema) == (
        "next:string, many:array<string>, item:struct<of:string,n:int>, other:struct<member0:int,member1:string>"
    )
    outside = {
        "type": "record",
        "name": "Outer",
        "fields": [{"name": "tree", "type": record(("next", ["null", "Order"]))}],
    }
    assert columns(outside) == "tree:struct<next:string>"


REASONS = [
    ("{", "not JSON: Input data was truncated"),
    ("7", "7 is not a type"),
    ("{}", "the schema has no 'type'"),
    ('{"type": ["int"]}', "'type' is not the name of a type"),
    ('"text"', "unknown type 'text'"),
    ("[]", "a union is empty"),
    ('["int", ["null"]]', "a union contains a union"),
    ('["int", {"type": "int"}]', "a union contains int twice"),
    ('{"type": "array"}', "array has no 'items'"),
    ('{"type": "record", "name": "1a", "fields": []}', "record has no valid name"),
    ('{"type": "enum", "name": "e", "symbols": ["a", "a"]}', "the enum has a symbol twice"),
    ('{"type": "enum", "name": "e", "symbols": ["a b"]}', "'symbols' is not a list of names"),
    ('{"type": "enum", "name": "e", "symbols": ["a"], "default": "b"}', "the default 'b' is not a symbol of the enum"),
    ('{"type": "fixed", "name": "f", "size": -1}', "'size' is not a number of bytes"),
    ("[" * 200 + "]" * 200, "types are nested more than 100 levels deep"),
    (record(("a", "text")), "field a: unknown type 'text'"),
    (record(("a", "int"), ("a", "int")), "field a: the record has two fields of this name"),
    (record(("a", {"type": "array", "items": record(("b", "x"), name="i")})), "field a[].b: unknown type 'x'"),
    (record(("a", "int", {"default": "x"})), 'field a: the default "x" is not int'),
    (record(("a", "int", {"default": 2**31})), "field a: the default 2147483648 is not int"),
    (record(("a", ["null", "string"], {"default": 1})), "field a: the default 1 is not union of null, string"),
    (record(("a", record(("b", "int")))), "field a: the type shop.Order is defined twice"),
    (record(("a", logical("bytes", "decimal"))), "field a: a decimal has no precision"),
    (record(("a", logical("bytes", "decimal", precision=2, scale=3))), "field a: the scale of a decimal is not between 0 and its precision, 2"),
    (record(("a", logical("fixed", "decimal", precision=5, size=2, name="f"))), "field a: 2 bytes hold 4 digits, not 5"),
    (record(("a", logical("bytes", "decimal", precision=39))), "field a: a decimal of 39 digits, but Spark's have at most 38"),
    (record(("a", "int"), ("A", "int")), "field A: Spark does not distinguish it from a"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "reason"), REASONS)
def test_schemas_without_columns(schema, reason):
    text = schema if isinstance(schema, str) else json.dumps(schema)
    with pytest.raises(SchemaError) as error:
        columns_of(parse_schema(text))
    assert str(error.value) == reason


ALL = (
    "struct<a:boolean,b:int,c:bigint,d:float,e:double,f:string,g:binary,h:date,i:timestamp,j:timestamp_ntz,"
    "k:decimal(38,18),l:array<array<int>>,m:map<string,struct<n:int,o:struct<p:string>>>,q:struct<r:void>>"
)


def test_a_schema_of_columns():
    fields = parse_type(ALL).fields
    text = schema_of(fields, "shop.orders.Value")
    assert columns_of(parse_schema(text)) == fields
    assert fastavro.parse_schema(json.loads(text))["name"] == "shop.orders.Value"
    assert json.loads(text)["fields"][1] == {"name": "b", "type": ["null", "int"], "default": None}


def test_a_schema_of_columns_reads_what_an_older_one_wrote():
    old = schema_of(parse_type("struct<a:int>").fields, "r")
    new = schema_of(parse_type("struct<b:struct<c:string>,a:bigint>").fields, "r")
    value = local_codec(AvroEncoding(old)).encode({"a": 5}, ())
    assert local_codec(AvroEncoding(new, writer=old)).decode(value, ()) == {"b": None, "a": 5}


def test_small_numbers_become_ints():
    assert (
        columns(json.loads(schema_of(parse_type("struct<a:tinyint,b:smallint>").fields, "r")))
        == "a:int, b:int"
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ((Field("a b", INTERVAL),), "field a b: the name is not one of Avro's: letters A to Z, digits and underscores"),
        (parse_type("struct<a:struct<b:array<map<int,int>>>>").fields, "field a.b[]: the keys of Avro's maps are strings, not int"),
        ((Field("a", INTERVAL),), "field a: Avro has no type for interval"),
        ((Field("a", VARIANT),), "field a: Avro has no type for variant"),
    ],
)  # fmt: skip
def test_columns_without_a_schema(fields, reason):
    with pytest.raises(SchemaError) as error:
        schema_of(fields, "r")
    assert str(error.value) == reason


def test_decoding_needs_no_descriptions():
    field = {
        "name": "doc",
        "type": {"type": "map", "values": "int"},
        "default": {"doc": 1},
        "doc": "How many",
    }
    schema = {"type": "record", "name": "r", "doc": "Things", "fields": [field]}
    assert json.loads(schema_essence(json.dumps(schema, indent=1))) == {
        "type": "record", "name": "r", "fields": [{key: field[key] for key in ("name", "type", "default")}]
    }  # fmt: skip
