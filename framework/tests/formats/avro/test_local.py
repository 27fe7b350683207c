"""Avro in Python, for commands that need no Spark."""

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from support.avro import judged

from millstream.core.expressions import Expression, Ref, render_sql
from millstream.core.types import BIGINT, Field
from millstream.formats.avro.codec import AvroEncoding, local_codec, spark_codec
from millstream.formats.format import DecodedSql
from millstream.formats.values import UnfitError


def schema_of(of, **more):
    return {"type": "record", "name": "r", "fields": [{"name": "a", "type": of, **more}]}


def logical(of, kind, **more):
    return {"type": of, "logicalType": kind, **more}


MONEY = logical("bytes", "decimal", precision=6, scale=2)
MILLIS = logical("long", "timestamp-millis")
TIME = datetime(2026, 1, 2, 3, 4, 5, 678000, timezone.utc)
UNION = ["null", "string", "long"]
GOOD = [
    ("int", 5, 5),
    ("double", 5, 5.0),
    ("double", Decimal("0.5"), 0.5),
    ("float", "Infinity", float("inf")),
    ("bytes", "AQI=", b"\1\2"),
    ("bytes", b"\1\2", b"\1\2"),
    (MONEY, "1.5", Decimal("1.5")),
    (MONEY, 1.1, Decimal("1.1")),
    (MONEY, -9999, Decimal(-9999)),
    ({**MONEY, "type": "fixed", "name": "f", "size": 3}, Decimal("-0.01"), Decimal("-0.01")),
    (logical("int", "date"), "2026-01-02", date(2026, 1, 2)),
    (MILLIS, "2026-01-02T03:04:05.678Z", TIME),
    (MILLIS, TIME.astimezone(timezone(timedelta(hours=2))), TIME),
    (logical("long", "local-timestamp-micros"), "2026-01-02T03:04:05.000001", datetime(2026, 1, 2, 3, 4, 5, 1)),  # noqa: DTZ001
    (logical("string", "uuid"), UUID(int=5), UUID(int=5)),
    (UNION, {"member1": 3}, 3),
    (UNION, {"member0": "x", "member1": None}, "x"),
    (UNION, None, None),
    (["int", "null", "long"], 5, 5),
    ({"type": "map", "values": "int"}, {"x": 1}, {"x": 1}),
    ({"type": "array", "items": ["null", "int"]}, [1, None], [1, None]),
]  # fmt: skip
BAD = [
    ("int", True, "field a: 'True' is not an int"),
    ("int", 2**31, "field a: '2147483648' is not an int"),
    ("int", None, "field a: NULL, but the schema has int, not a union with null"),
    ("long", "5", "field a: '5' is not a long"),
    ("boolean", 1, "field a: '1' is not a boolean"),
    ("float", 1e39, "field a: '1e+39' is not a float"),
    ("double", 2**53 + 1, "field a: '9007199254740993' is not a double"),
    ("string", 5, "field a: '5' is not a string"),
    ("string", "\ud800", "field a: the text contains a lone surrogate, which is half a character"),
    ("bytes", "??", "field a: '??' is not base64"),
    ({"type": "fixed", "name": "f", "size": 3}, b"ab", "field a: 2 bytes are not fixed(3) f"),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, "B", "field a: 'B' is not a symbol of e"),
    (MONEY, "x", "field a: 'x' is not a decimal(6,2)"),
    (MONEY, "1.255", "field a: '1.255' is not a decimal(6,2)"),
    (MONEY, 10000, "field a: '10000' is not a decimal(6,2)"),
    (MONEY, "NaN", "field a: 'NaN' is not a decimal(6,2)"),
    (logical("int", "date"), TIME, "field a: '2026-01-02 03:04:05.678000+00:00' is not a date"),
    (logical("int", "date"), "2026", "field a: '2026' is not a date"),
    (MILLIS, "12:30", "field a: '12:30' is not a timestamp"),
    (MILLIS, TIME.replace(microsecond=1), "field a: '2026-01-02 03:04:05.000001+00:00' is not a time in whole milliseconds"),
    (logical("int", "time-millis"), 86400000, "field a: '86400000' is not a time of day in milliseconds"),
    (logical("string", "uuid"), "x", "field a: 'x' is not a UUID"),
    (UNION, 3, "field a: '3' is not a mapping of one of member0, member1"),
    (UNION, {"member0": "x", "member1": 3}, "field a: 2 of member0, member1 have a value, not 1"),
    ({"type": "array", "items": "int"}, [1, "x"], "field a[1]: 'x' is not an int"),
    ({"type": "map", "values": "int"}, {"k": None}, "field a.k: NULL, but the schema has int, not a union with null"),
]  # fmt: skip


@pytest.mark.parametrize(("of", "value", "expected"), GOOD)
def test_values_are_written(of, value, expected):
    schema = schema_of(of)
    written = local_codec(AvroEncoding(json.dumps(schema))).encode({"a": value}, ())
    assert judged(written, schema) == ({"a": expected}, True)


@pytest.mark.parametrize(("of", "value", "reason"), BAD)
def test_values_that_the_schema_does_not_hold(of, value, reason):
    with pytest.raises(UnfitError) as error:
        local_codec(AvroEncoding(json.dumps(schema_of(of)))).encode({"a": value}, ())
    assert str(error.value) == reason


@dataclass
class Row:
    a: int


def test_rows():
    codec = local_codec(AvroEncoding(json.dumps(schema_of("int", default=7)), "confluent", schema_id=258))
    assert codec.encode(Row(1), ()) == b"\0\0\0\1\2\2"
    assert codec.encode({"A": 1}, ()) == b"\0\0\0\1\2\2"
    assert codec.encode({}, ()) == b"\0\0\0\1\2\x0e"
    with pytest.raises(UnfitError, match="'b' is not a field of r; fields: a"):
        codec.encode({"b": 1}, ())
    with pytest.raises(UnfitError, match="'5' is not a record r"):
        codec.encode(5, ())


def test_a_schema_that_is_not_a_record():
    codec = local_codec(AvroEncoding('"long"'))
    assert codec.encode({"id": 3}, ()) == codec.encode(3, ()) == b"\6"
    assert codec.decode(b"\6", ()) == 3


def test_spark_is_given_the_schemas():
    encoding = AvroEncoding('"long"', "confluent", writers=((7, '"int"'),), subject="numbers-value")
    codec = spark_codec(encoding)
    fields = (Field("id", BIGINT),)
    assert sql(codec.decode(fields).rows) == (
        """array(decode_avro(value, 'id bigint', '"long"', 'confluent', '{"7":"\\\\"int\\\\""}'))"""
    )
    assert sql(codec.encode([("id", Expression((Ref("id"),), BIGINT))])) == (
        """encode_avro(struct(id), 'id bigint', '"long"', 'confluent', 'numbers-value')"""
    )
    assert codec.decode(()) == DecodedSql()


def sql(pieces):
    return render_sql(Expression(tuple(pieces), BIGINT), lambda ref: ref.column)


def test_fastavro_is_not_needed():
    code = "import sys, millstream.formats.avro.codec; sys.exit('fastavro' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
