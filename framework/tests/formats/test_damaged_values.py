"""Damaged values, decoded in Python: each is bad, or what fastavro or Python's own functions read."""

import io
import json
import struct
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from random import Random

import fastavro
import pytest
from msgspec import Struct

from millstream.core.types import BIGINT, STRING, Field
from millstream.formats.registry import Encoding, WriterSchema, format_of
from millstream.formats.values import UnfitError

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FIRST, LAST = -62135596800 * 10**6, 253402300800 * 10**6 - 1
"""The years 1 to 9999 in microseconds."""
NAMES = ("Zoë", "", "a, b", 'say "hi"', "<x>&amp;", "two\nlines", "€" * 20, "𝄞", "null", " a ")
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "name", "type": "string"},
    {"name": "total", "type": "double"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "ok", "type": "boolean"},
    {"name": "price", "type": ["null", MONEY]},
]
PLAIN_FIELDS = [{**field, "type": type_} for field, type_ in zip(FIELDS, ("long", "string", "double", "long", "boolean", ["null", "bytes"]), strict=True)]  # fmt: skip
GONE, NEW = {"name": "gone", "type": "string"}, {"name": "new", "type": "int", "default": 7}
STRICTER = ("is not a boolean", "a number has more than 64 bits")
"""What fastavro reads nevertheless: it takes any byte for true, and drops the bits that are too many."""


def record(fields):
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": fields}


def sample(random, number):
    return {
        "id": random.choice([number, -number, 2**63 - 1, -(2**63)]),
        "name": random.choice(NAMES),
        "total": random.choice([0.0, 1.5, -0.1, 1e300, random.random()]),
        "at": EPOCH + timedelta(microseconds=random.randrange(20000 * 86400 * 10**6)),
        "ok": random.random() < 0.5,
        "price": Decimal(random.randrange(-(10**10) + 1, 10**10)).scaleb(-2),
        "gone": "x",
        "new": 5,
    }


def avro(row, *more):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(record([*FIELDS, *more])), row)
    return out.getvalue()


def judge_avro(value, *more):
    """Read a value by a schema without logical types, whose values may not fit in Python's."""
    source = io.BytesIO(value)
    row = fastavro.schemaless_reader(source, fastavro.parse_schema(record([*PLAIN_FIELDS, *more])), None)
    assert not source.read()
    assert FIRST <= row["at"] <= LAST
    if row["price"] is not None:
        unscaled = int.from_bytes(row["price"], "big", signed=True)
        assert abs(unscaled) < 10**10
        row["price"] = Decimal(unscaled).scaleb(-2)
    row["at"] = EPOCH + timedelta(microseconds=row["at"])
    return row


VERSIONS = {7: GONE, 300: NEW}


def framed(row):
    number = version_of(row)
    return b"\0" + number.to_bytes(4, "big") + avro(row, VERSIONS[number])


def version_of(row):
    return 300 if row["ok"] else 7


def judge_framed(value):
    assert value[0] == 0
    field = VERSIONS[int.from_bytes(value[1:5], "big")]
    # A text that no column reads is skipped, whatever its bytes are.
    row = judge_avro(value[5:], {**GONE, "type": "bytes"} if field is GONE else field)
    row.pop("gone", None)
    return {**row, "new": row.get("new", 7)}


class Case(Struct):
    encoding: Encoding
    write: object
    judge: object
    columns: tuple = ()


CASES = {
    "avro": Case(Encoding("avro", schema=json.dumps(record(FIELDS))), avro, judge_avro),
    "framed avro": Case(
        Encoding(
            "avro", schema=json.dumps(record([*FIELDS, NEW])), framing="confluent",
            writers=tuple(WriterSchema(n, json.dumps(record([*FIELDS, field]))) for n, field in VERSIONS.items()),
        ),
        framed, judge_framed,
    ),
    "string": Case(
        Encoding("string"), lambda row: row["name"].encode(), lambda value: value.decode("utf-8"),
        (Field("value", STRING),),
    ),
    "long": Case(
        Encoding("long"), lambda row: struct.pack(">q", row["id"]), lambda value: struct.unpack(">q", value)[0],
        (Field("value", BIGINT),),
    ),
}  # fmt: skip


def damaged(random, value, others):
    """Return a value with one thing wrong, or one that only looks so."""
    data = bytearray(value) or bytearray(b"\0")
    position = random.randrange(len(data))
    match random.randrange(9):
        case 0 | 1:
            data[position] ^= 1 << random.randrange(8)
        case 2:
            del data[position:]
        case 3:
            data.insert(position, random.randrange(256))
        case 4:
            data += random.randbytes(random.randrange(1, 5))
        case 5:
            del data[position]
        case 6:
            data[:1] = random.randbytes(random.randrange(2))
        case 7:
            data[1:5] = random.randbytes(4)
        case 8:
            return random.choice(others)
    return bytes(data)


def judged(case, value):
    try:
        return case.judge(value)
    except Exception:  # noqa: BLE001 - whatever a judge raises, the value is bad
        return None


def decoded(case, value):
    """Return what we read, or why the value is bad."""
    try:
        return format_of(case.encoding).local.decode(value, case.columns), ""
    except UnfitError as error:
        return None, str(error)


@pytest.mark.parametrize("name", CASES)
def test_damaged_values_are_bad_or_as_the_judges_read_them(name):
    case, random = CASES[name], Random(name)
    others = [other.write(sample(random, 1)) for other in CASES.values()]
    others += [b'{"id": 1}', b"1,2", b"<a/>", "é".encode("utf-16")]
    reasons = []
    for number in range(400):
        good = case.write(sample(random, number))
        assert decoded(case, good) == (case.judge(good), "")
        value = damaged(random, good, others)
        expected, (actual, reason) = judged(case, value), decoded(case, value)
        if any(phrase in reason for phrase in STRICTER):
            expected = None
        # Texts of the two compare NaN as equal.
        assert repr(actual) == repr(expected), (value, reason)
        reasons.append(reason)
    assert 40 < sum(map(bool, reasons)) < 360
