"""Records of an order in every format, and what can go wrong with them."""

import csv
import io
import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from xml.sax.saxutils import escape

import fastavro

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
NAMES = ("Zoë", "a; b", "it's", 'say "hi"', "<x>&amp;", "two\nlines", "€" * 20, "𝄞", "null", " a ", None)
KINDS = {
    "id": "bigint",
    "name": "string",
    "total": "double",
    "at": "timestamp",
    "ok": "boolean",
    "price": "decimal(10,2)",
    "small": "int",
    "tags": "array<string>",
}
FLAT = {name: kind for name, kind in KINDS.items() if name != "tags"}


def sample(random, number):
    return {
        "id": random.choice([number, -number, 2**63 - 1, -(2**63)]),
        "name": random.choice(NAMES),
        "total": random.choice([0.0, 1.5, -0.1, 1e300, random.random()]),
        "at": random.randrange(20000 * 86400 * 10**6),
        "ok": random.random() < 0.5,
        "price": random.choice([None, Decimal(random.randrange(-(10**10) + 1, 10**10)).scaleb(-2)]),
        "small": random.choice([0, 1, -1, 2**31 - 1, -(2**31)]),
        "tags": [random.choice(NAMES[:-1]) for _ in range(random.randrange(3))],
    }


def iso(micros):
    return (EPOCH + timedelta(microseconds=micros)).isoformat()


def json_texts(row):
    """Return the fields of a JSON object."""
    texts = {
        name: json.dumps(field, ensure_ascii=row["ok"])
        for name, field in row.items()
        if name not in {"at", "price"}
    }
    price = str(row["price"]) if row["price"] is not None else "null"
    return texts | {"at": f'"{iso(row["at"])}"', "price": price}


def as_json(texts):
    return ("{" + ", ".join(f'"{name}": {text}' for name, text in texts.items()) + "}").encode()


JSON_WRONG = {
    "id": ('"x"', "1.5", "true", "{}", "[1]", "null", "9223372036854775808", '"12"'),
    "total": ('"x"', "true", "[]", "{}", "1e400", "-1e400"),
    "at": (
        '"20260101"',
        '"12:30"',
        "1700000000000",
        "true",
        '"2026-13-01T00:00:00Z"',
        '"2026-01-02 or so"',
        "1.5",
    ),
    "ok": ("1", '"true"', '"yes"', "[]"),
    "price": ("1.255", '"x"', "123456789.5", "true", "1e-3", "[]"),
    "small": ("3000000000", "1.5", '"1"', "-2147483649", "1e10"),
    "tags": ('"x"', "{}", "1", '["\\ud800"]'),
    "name": ('"\\ud800"', '"a\\udc00b"'),
}


def wrong_json(random, row):
    field = random.choice(list(JSON_WRONG))
    return as_json(json_texts(row) | {field: random.choice(JSON_WRONG[field])}), field


TEXT_WRONG = {
    "id": ("x", "1.5", "9223372036854775808", "0x1f", "1_0"),
    "total": ("x", "1e400", "1,5", "0x1p3", "1d", "nan"),
    "at": ("20260101", "12:30", "1700000000", "2026-02-30T00:00:00Z", "2026-01-02 or so", "x"),
    "ok": ("1", "yes", "tru"),
    "price": ("1.255", "x", "123456789.5", "1e-3", "1 000"),
    "small": ("3000000000", "1.5", "-2147483649", "x"),
}


def texts_of(row, names):
    """Return the fields of a row as texts; None stays what it is."""
    return {name: text_of(name, row[name]) for name in names}


def text_of(name, value):
    match value:
        case None | list():
            return value
        case bool():
            return str(value).lower()
        case Decimal() | int():
            return iso(value) if name == "at" else str(value)
        case float():
            return repr(value)
        case _:
            return value


def wrong_texts(random, row, names):
    field = random.choice(list(TEXT_WRONG))
    return texts_of(row, names) | {field: random.choice(TEXT_WRONG[field])}, field


def as_csv(texts):
    """Write texts between semicolons; those that need it are quoted, and None is nothing."""
    out = io.StringIO()
    csv.writer(out, delimiter=";", quotechar="'", lineterminator="\n").writerow(texts.values())
    return out.getvalue()[:-1].encode()


def as_xml(texts, start="<order>", end="</order>"):
    inner = "".join(
        f"<{name}>{escape(element)}</{name}>"
        for name, text in texts.items()
        for element in ([] if text is None else text if isinstance(text, list) else [text])
    )
    return f"{start}{inner}{end}".encode()


def as_soap(texts):
    start = '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Header/><s:Body><order xmlns="urn:shop">'
    return as_xml(texts, start, "</order></s:Body></s:Envelope>")


FAULT = (
    b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><s:Fault><faultstring>down</faultstring>'
    b"</s:Fault></s:Body></s:Envelope>"
)


def avro_schema(*more, plain=False):
    """Return the schema of an order: without logical types, if it is plain."""
    time_type = "long" if plain else {"type": "long", "logicalType": "timestamp-micros"}
    price = "bytes" if plain else {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    types = {"id": "long", "name": ["null", "string"], "total": "double", "at": time_type, "ok": "boolean"}
    types |= {"price": ["null", price], "small": "int", "tags": {"type": "array", "items": "string"}}
    fields = [{"name": name, "type": type_} for name, type_ in types.items()]
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": [*fields, *more]}


def as_avro(row, *more):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(avro_schema(*more)), row)
    return out.getvalue()


AVRO_WRONG = {"id": "double", "name": "long", "at": "string", "small": "string", "tags": "long"}
"""Other types, with which a writer that knows nothing of the schema writes its fields."""


def wrong_avro(random, row):
    field = random.choice(list(AVRO_WRONG))
    schema = avro_schema()
    value = {"double": 1.5, "long": 7, "string": "x"}[AVRO_WRONG[field]]
    schema["fields"] = [
        {**avro_field, "type": AVRO_WRONG[field]} if avro_field["name"] == field else avro_field
        for avro_field in schema["fields"]
    ]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row | {field: value})
    return out.getvalue(), None


PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
enum Kind { NONE = 0; NEW = 1; OLD = 5; }
message Order {
  optional int64 id = 1;
  optional string name = 2;
  optional double total = 3;
  google.protobuf.Timestamp at = 4;
  optional bool ok = 5;
  optional int32 small = 6;
  repeated string tags = 7;
  optional Kind kind = 8;
}
"""
WIDE = """
syntax = "proto3";
package wide;
message Moment { int64 seconds = 1; int64 nanos = 2; }
message Order {
  optional int64 id = 1;
  optional string name = 2;
  optional double total = 3;
  Moment at = 4;
  optional uint64 ok = 5;
  optional int64 small = 6;
  repeated string tags = 7;
  optional int64 kind = 8;
}
"""
"""The same, in types that hold whatever number a value has."""
WRONG = """
syntax = "proto3";
package wrong;
message Order {
  optional string id = 1;
  optional int64 name = 2;
  optional string total = 3;
  optional int64 at = 4;
  optional int64 ok = 5;
  optional int64 small = 6;
  optional fixed32 tags = 7;
  optional int64 kind = 8;
}
"""
PROTO_WRONG = {
    "id": "x", "name": 7, "total": "x", "at": 7, "ok": 2, "small": 2**40, "tags": 7, "kind": 3,
}  # fmt: skip
"""Values that a writer with another schema writes."""


def damaged(random, value, others):
    """Return a value with one thing wrong, or one that only looks so."""
    data = bytearray(value) or bytearray(b"\0")
    position = random.randrange(len(data))
    match random.randrange(9):
        case 0 | 1 | 2:
            data[position] ^= 1 << random.randrange(8)
        case 3:
            del data[position:]
        case 4:
            data.insert(position, random.randrange(256))
        case 5:
            data += random.choice([random.randbytes(random.randrange(1, 5)), value, b" x"])
        case 6:
            del data[position]
        case 7:
            data[position : position + 4] = random.randbytes(4)
        case 8:
            return random.choice(others)
    return bytes(data)


def badly_framed(random, value):
    """Return a framed value whose frame is wrong."""
    match random.randrange(5):
        case 0:
            return value[5:]
        case 1:
            return bytes([random.randrange(1, 256)]) + value[1:]
        case 2:
            return b"\0" + random.randbytes(4) + value[5:]
        case 3:
            return value[: random.randrange(1, 5)]
        case _:
            return value[:5] + value
