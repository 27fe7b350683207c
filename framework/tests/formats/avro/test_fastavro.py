"""What fastavro does with values that our codec refuses: why Avro in Python is not fastavro's.

If one of these fails after an update of fastavro, docs/decisions/records.md can be reconsidered.
"""

import json
import signal
import subprocess
import sys
from decimal import Decimal

import pytest
from support.avro import encoded, judged

from millstream.formats.avro.codec import AvroEncoding, local_codec
from millstream.formats.values import UnfitError


def schema_of(of, **more):
    return {"type": "record", "name": "r", "fields": [{"name": "a", "type": of, **more}]}


ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
POINT = {"type": "record", "name": "p", "fields": [{"name": "x", "type": "int"}]}
NESTED = {"type": "record", "name": "n", "fields": [{"name": "next", "type": ["null", "n"]}]}


def codec(schema, writer=None):
    return local_codec(AvroEncoding(json.dumps(schema), "plain", json.dumps(writer) if writer else ""))


@pytest.mark.parametrize(
    ("of", "value", "read", "reason"),
    [
        ("int", b"\x80\x80\x80\x80\x80\x40", 2**40, "'1099511627776' is not an int"),
        ("long", b"\xff" * 11 + b"\x01", -(2**63), "a number has more than 64 bits"),
        ("boolean", b"\x02", True, "the byte 0x02 is not a boolean"),
        (["null", "string", "long"], b"\x01\x02", 1, "-1 is not the number of a type of the union"),
        (ENUM, b"\x01", "B", "-1 is not the number of a symbol"),
        (
            MONEY,
            b"\x10" + b"\x7f" * 8,
            Decimal("9.18720E+16"),
            "'91872019504357374.71' is not a decimal(6,2)",
        ),
        (MONEY, b"\x00", Decimal("0.00"), "a decimal has no bytes"),
    ],
)
def test_it_reads_other_values_than_were_written(of, value, read, reason):
    schema = schema_of(of)
    assert judged(value, schema) == ({"a": read}, True)
    with pytest.raises(UnfitError) as raised:
        codec(schema).decode(value, ())
    assert str(raised.value) == f"field a: {reason}"


@pytest.mark.parametrize(
    ("of", "default", "read", "expected"),
    [
        ("bytes", "\u00ff", "\u00ff", b"\xff"),
        (MONEY, "\u0001\u0000", "\u0001\u0000", Decimal("2.56")),
        ({**POINT, "fields": [{"name": "x", "type": "int", "default": 3}]}, {}, {}, {"x": 3}),
    ],
)
def test_it_reads_defaults_as_they_are_in_json(of, default, read, expected):
    writer, reader = {"type": "record", "name": "r", "fields": []}, schema_of(of, default=default)
    assert judged(b"", writer, reader) == ({"a": read}, True)
    assert codec(reader, writer).decode(b"", ()) == {"a": expected}


@pytest.mark.parametrize(
    ("of", "value", "reason"),
    [
        ("int", 2**31, "'2147483648' is not an int"),
        ("boolean", "no", "'no' is not a boolean"),
        ("double", 2**53 + 1, "'9007199254740993' is not a double"),
        ("float", 1e39, "'1e+39' is not a float"),
        (MONEY, Decimal("10000.5"), "'10000.5' is not a decimal(6,2)"),
        (POINT, {"x": 1, "y": 2}, "'y' is not a field of p; fields: x"),
    ],
)
def test_it_writes_values_that_the_schema_can_not_hold(of, value, reason):
    assert encoded(schema_of(of), {"a": value})
    with pytest.raises(UnfitError) as raised:
        codec(schema_of(of)).encode({"a": value}, ())
    assert str(raised.value) == f"field a: {reason}"


READ = """\
import io, json, sys, fastavro
schema, value = json.loads(sys.argv[1]), bytes.fromhex(sys.argv[2])
fastavro.schemaless_reader(io.BytesIO(value), fastavro.parse_schema(schema), None)
"""


def test_a_value_can_end_the_process():
    value = b"\2" * 20_000 + b"\0"
    process = subprocess.run([sys.executable, "-c", READ, json.dumps(NESTED), value.hex()], check=False)
    assert process.returncode == -signal.SIGSEGV
    with pytest.raises(UnfitError, match="records are nested more than 100 levels deep"):
        codec(NESTED).decode(value, ())


def test_a_value_of_six_bytes_can_take_hours():
    schema, value = schema_of({"type": "array", "items": "null"}), b"\x80\x80\x80\x80\x80\x20"
    with subprocess.Popen([sys.executable, "-c", READ, json.dumps(schema), value.hex()]) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        process.kill()
    with pytest.raises(UnfitError, match="there are too many elements without any bytes"):
        codec(schema).decode(value, ())
