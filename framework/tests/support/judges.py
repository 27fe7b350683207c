"""What a value holds, by software that knows nothing of Millstream; they raise an error for a value that is bad.

A judge gets bytes, and the kinds of the columns: `bigint`, `int`, `double`, `string`, `timestamp` (in microseconds),
`boolean`, `decimal(10,2)` or `array<string>`.
"""

import csv
import io
import json
import math
import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from xml.etree import ElementTree as ET

import fastavro

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
RANGES = {"bigint": 63, "int": 31}
FIRST, LAST = -62135596800 * 10**6, 253402300800 * 10**6 - 1
"""The years 1 to 9999 in microseconds."""
INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?(?:(Z)|([+-])([0-9]{1,2}):([0-9]{1,2}))?)?"
)
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class BadError(Exception):
    """A value that is bad for another reason than those of a library."""


def need(fine, why=""):
    if not fine:
        raise BadError(why)


def in_range(number, kind):
    need(-(2 ** RANGES[kind]) <= number < 2 ** RANGES[kind], "out of range")
    return number


def double(text):
    if text in SPECIAL:
        return SPECIAL[text]
    need(NUMBER.fullmatch(text))
    need(math.isfinite(float(text)), "overflow")
    return float(text)


def money(text):
    """Return a number that fits into a decimal(10,2) as it is."""
    need(NUMBER.fullmatch(text))
    number = Decimal(text)
    exact = number.quantize(Decimal("0.01")) if abs(number) < 10**8 else None
    need(exact is not None and exact == number, "digits lost")
    return exact


def micros(text):
    match = TIME.fullmatch(text.rstrip())
    need(match)
    year, month, day = map(int, match[1].split("-"))
    local_time = datetime(year, month, day, int(match[2] or 0), int(match[3] or 0), int(match[4] or 0), tzinfo=timezone.utc)  # fmt: skip
    zone = timedelta(hours=int(match[8] or 0), minutes=int(match[9] or 0)) * (-1 if match[7] == "-" else 1)
    need(abs(zone) <= timedelta(hours=18) and int(match[9] or 0) < 60)
    moment = (local_time - EPOCH - zone) // timedelta(microseconds=1) + int(
        (match[5] or "").ljust(6, "0")[:6]
    )
    need(FIRST <= moment <= LAST)
    return moment


def of_text(text, kind):
    """Read a text of a format in which all values are texts."""
    match kind:
        case "string":
            return text
        case "bigint" | "int":
            need(INTEGER.fullmatch(text))
            return in_range(int(text), kind)
        case "double":
            return double(text)
        case "boolean":
            return {"true": True, "false": False}[text.lower()]
        case "decimal(10,2)":
            return money(text)
        case "timestamp":
            return micros(text)
    raise AssertionError(kind)


class Number(str):
    """A number of JSON as it is written."""

    __slots__ = ()


class Object(list):
    """An object of JSON: its names and values."""


def parsed(value):
    """Read JSON in which each number is a text, and each object a list of pairs."""
    text = value.decode("utf-8")
    return json.loads(
        text, object_pairs_hook=Object, parse_int=Number, parse_float=Number, parse_constant=refused
    )


def refused(word):
    raise BadError(word)


def json_value(value, kinds):
    document = parsed(value)
    need(isinstance(document, Object), "not an object")
    row = dict.fromkeys(kinds)
    seen = set()
    for name, member in document:
        if name in kinds:
            need(name not in seen, "twice")
            seen.add(name)
            row[name] = None if member is None else of_json(member, kinds[name])
    return row


def of_json(value, kind):
    match kind:
        case "string":
            text = value if isinstance(value, str) else json_text(value)
            text.encode()
            return text
        case "bigint" | "int":
            need(isinstance(value, Number))
            number = Decimal(value)
            need(number == number.to_integral_value(), "a fraction")
            return in_range(int(number), kind)
        case "double":
            need(isinstance(value, Number) or value in SPECIAL)
            return double(value)
        case "boolean":
            need(isinstance(value, bool))
            return value
        case "decimal(10,2)":
            need(isinstance(value, str))
            return money(value)
        case "timestamp":
            need(isinstance(value, str))
            if isinstance(value, Number):
                moment = int(value) * 10**6
                need(FIRST <= moment <= LAST)
                return moment
            return micros(value)
        case "array<string>":
            need(isinstance(value, list) and not isinstance(value, Object))
            return [None if member is None else of_json(member, "string") for member in value]
    raise AssertionError(kind)


def json_text(value):
    """Write JSON again, without blanks; numbers stay as they are."""
    match value:
        case Number():
            return str(value)
        case Object():
            return "{" + ",".join(f"{json_text(name)}:{json_text(member)}" for name, member in value) + "}"
        case list():
            return "[" + ",".join(map(json_text, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def csv_value(value, kinds):
    """Read fields between semicolons, with single quotes around them; an empty one is None, with quotes or without."""
    lines = list(
        csv.reader(io.StringIO(value.decode("utf-8"), newline=""), delimiter=";", quotechar="'", strict=True)
    )
    need(len(lines) == 1 and len(lines[0]) == len(kinds))
    return {
        name: of_text(text, kind) if text else None
        for (name, kind), text in zip(kinds.items(), lines[0], strict=True)
    }


def xml_value(value, kinds):
    return row_of(document(value), kinds)


SOAP = "http://schemas.xmlsoap.org/soap/envelope/"


def soap_value(value, kinds):
    root = document(value)
    need(local(root) == "Envelope")
    order = child_of(child_of(root, "Body"), "order")
    need(order.tag == "{urn:shop}order", "another namespace")
    return row_of(order, kinds)


def document(value):
    text = value.decode("utf-8-sig")
    need("<!DOCTYPE" not in text)
    return ET.fromstring(text)


def local(element):
    return element.tag.rpartition("}")[2]


def child_of(element, name):
    for child in element:
        need(local(child) != "Fault", "a fault")
    children = [child for child in element if local(child) == name]
    need(len(children) == 1, f"not one {name}")
    return children[0]


def row_of(element, kinds):
    row = dict.fromkeys(kinds)
    seen = set()
    for child in element:
        name = local(child)
        kind = kinds.get(name)
        if kind is None:
            continue
        text = "".join(child.itertext())
        if kind == "array<string>":
            row[name] = [*(row[name] or ()), text]
            continue
        need(name not in seen, "several elements")
        seen.add(name)
        need(kind == "string" or len(child) == 0, "elements")
        text = text if kind == "string" else text.strip()
        row[name] = of_text(text, kind) if text or kind == "string" else None
    return row


def avro_value(value, schema):
    """Read by a schema without logical types, whose values may not fit in Python's."""
    source = io.BytesIO(value)
    row = fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)
    need(not source.read(), "there is more")
    need(FIRST <= row["at"] <= LAST)
    in_range(row["small"], "int")
    if row["price"] is not None:
        unscaled = int.from_bytes(row["price"], "big", signed=True)
        need(abs(unscaled) < 10**10)
        row["price"] = Decimal(unscaled).scaleb(-2)
    return row
