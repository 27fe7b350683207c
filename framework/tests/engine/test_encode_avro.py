"""The encoder of Avro, on Spark: values that a schema can't hold are errors that name the field."""

import json
from decimal import Decimal

import pytest
from support.avro import judged
from support.avro_spark import call


def schema_of(of, **more):
    return {"type": "record", "name": "r", "fields": [{"name": "a", "type": of, **more}]}


def encode(spark, columns, row, schema):
    expression = call("encode_avro", f"struct({row})", columns, json.dumps(schema), "plain", "")
    (written,) = spark.sql(f"select {expression} as value").collect()
    return bytes(written["value"])


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 3}
FIXED = {"type": "fixed", "name": "f", "size": 2}
SMALL = {**FIXED, "logicalType": "decimal", "precision": 4, "scale": 1}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
TWO = ["null", "string", "int"]
GOOD = [
    ("smallint", "1S", "int", 1),
    ("tinyint", "1Y", "long", 1),
    ("int", "1", "long", 1),
    ("bigint", "-1", "int", -1),
    ("float", "float(0.5)", "double", 0.5),
    ("int", "null", ["int", "null"], None),
    ("bigint", "5", ["long", "int"], 5),
    ("decimal(4,1)", "-1.5", DECIMAL, Decimal("-1.5")),
    ("decimal(9,5)", "1.50000", DECIMAL, Decimal("1.5")),
    ("decimal(4,1)", "-999.9", SMALL, Decimal("-999.9")),
    ("decimal(4,1)", "999.9", SMALL, Decimal("999.9")),
    ("struct<member0:string,member1:int>", "named_struct('member0', null, 'member1', 3)", TWO, 3),
    ("struct<member0:string,member1:int>", "null", TWO, None),
    ("struct<b:int>", "named_struct('b', 1)", schema_of("int") | {"name": "s", "fields": [{"name": "b", "type": "int"}, {"name": "c", "type": FIXED, "default": "ÿA"}]}, {"b": 1, "c": b"\xffA"}),
]  # fmt: skip
BAD = [
    ("int", "cast(null as int)", "int", "field a: NULL, but the schema has int, not a union with null"),
    ("struct<member0:int,member1:float>", "null", ["int", "float"], "field a: NULL, but the schema has a union of int, float, without null"),
    ("bigint", "3000000000", "int", "field a: '3000000000' is not an int"),
    ("string", "'x'", {"type": "enum", "name": "E", "symbols": ["A"]}, "field a: 'x' is not a symbol of E"),
    ("string", "cast(X'ff' as string)", "string", "is not a valid text: it is not UTF-8"),
    ("string", "'x'", {"type": "string", "logicalType": "uuid"}, "field a: 'x' is not a UUID"),
    ("binary", "X'01'", FIXED, r"field a: 1 bytes are not fixed\(2\) f"),
    ("decimal(9,5)", "1.00001", DECIMAL, r"field a: '1.00001' is not a decimal\(6,3\)"),
    ("decimal(9,3)", "1000.000", DECIMAL, r"field a: '1000.000' is not a decimal\(6,3\)"),
    ("decimal(5,1)", "1000.0", SMALL, r"field a: '1000.0' is not a decimal\(4,1\)"),
    ("timestamp", "timestamp_micros(1)", MILLIS, "field a: '1 microseconds' is not a time in whole milliseconds"),
    ("int", "-1", {"type": "int", "logicalType": "time-millis"}, "field a: '-1' is not a time of day in milliseconds"),
    ("array<string>", "array('x', null)", {"type": "array", "items": "string"}, r"field a\[1\]: NULL, but"),
    ("map<string,int>", "map('k', null)", {"type": "map", "values": "int"}, r"field a\.k: NULL, but"),
    ("struct<member0:string,member1:int>", "named_struct('member0', 'x', 'member1', 3)", TWO, "field a: both member0 and member1 have a value"),
    ("struct<member0:string,member1:int>", "named_struct('member0', null, 'member1', null)", TWO, "field a: none of member0, member1 has a value"),
]  # fmt: skip
UNFIT = [
    ("string", "int", "field a: Avro's int is not a string"),
    ("double", "float", "field a: Avro's float is not a double"),
    ("string", "bytes", "field a: Avro's bytes is not a string"),
    ("timestamp", "long", "field a: Avro's long is not a timestamp"),
    ("map<int,int>", {"type": "map", "values": "int"}, "field a: Avro's map is not a map<int, int>"),
]


@pytest.mark.parametrize(("type_", "value", "of", "expected"), GOOD)
def test_values_are_written(first_spark, type_, value, of, expected):
    written = encode(first_spark, f"a {type_}", f"cast({value} as {type_}) as a", schema_of(of))
    assert judged(written, schema_of(of)) == ({"a": expected}, True)


@pytest.mark.parametrize(("type_", "value", "of", "message"), BAD)
def test_values_that_the_schema_does_not_hold(first_spark, type_, value, of, message):
    with pytest.raises(Exception, match=message):
        encode(first_spark, f"a {type_}", f"cast({value} as {type_}) as a", schema_of(of))


@pytest.mark.parametrize(("type_", "of", "message"), UNFIT)
def test_types_that_the_schema_does_not_hold(first_spark, type_, of, message):
    with pytest.raises(Exception, match=message):
        encode(first_spark, f"a {type_}", f"cast(null as {type_}) as a", schema_of(of))


def test_fields_without_a_column_get_their_default(first_spark):
    schema = {"type": "record", "name": "r", "fields": [
        {"name": "b", "type": ["null", "string"], "default": "x"},
        {"name": "a", "type": "int"},
        {"name": "c", "type": {"type": "array", "items": "long"}, "default": [1]},
    ]}  # fmt: skip
    written = encode(first_spark, "a int", "2 as a", schema)
    assert judged(written, schema) == ({"a": 2, "b": "x", "c": [1]}, True)
    with pytest.raises(Exception, match="field a: no column, and the schema has no default"):
        encode(first_spark, "b string", "'' as b", schema)
    with pytest.raises(Exception, match="the schema has no field d"):
        encode(first_spark, "d string", "'' as d", schema)


def test_a_schema_that_is_not_a_record(first_spark):
    assert encode(first_spark, "key string", "'é' as key", "string") == b"\4\xc3\xa9"
    with pytest.raises(Exception, match="NULL, but the schema has string"):
        encode(first_spark, "key string", "cast(null as string) as key", "string")
