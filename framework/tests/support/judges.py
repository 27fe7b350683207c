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
WHOLE = re.compile(r"[+-]?[0-9]+")
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


def whole(number, kind):
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
    found = Decimal(text)
    exact = found.quantize(Decimal("0.01")) if abs(found) < 10**8 else None
    need(exact is not None and exact == found, "digits lost")
    return exact


def micros(text):
    found = TIME.fullmatch(text.rstrip())
    need(found)
    year, month, day = map(int, found[1].split("-"))
    at = datetime(year, month, day, int(found[2] or 0), int(found[3] or 0), int(found[4] or 0), tzinfo=timezone.utc)  # fmt: skip
    zone = timedelta(hours=int(found[8] or 0), minutes=int(found[9] or 0)) * (-1 if found[7] == "-" else 1)
    need(abs(zone) <= timedelta(hours=18) and int(found[9] or 0) < 60)
    moment = (at - EPOCH - zone) // timedelta(microseconds=1) + int((found[5] or "").ljust(6, "0")[:6])
    need(FIRST <= moment <= LAST)
    return moment


def of_text(text, kind):
    """Read a text of a format in which all values are texts."""
    match kind:
        case "string":
            return text
        case "bigint" | "int":
            need(WHOLE.fullmatch(text))
            return whole(int(text), kind)
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
    found = parsed(value)
    need(isinstance(found, Object), "not an object")
    row = dict.fromkeys(kinds)
    seen = set()
    for name, each in found:
        if name in kinds:
            need(name not in seen, "twice")
            seen.add(name)
            row[name] = None if each is None else of_json(each, kinds[name])
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
            return whole(int(number), kind)
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
            return [None if each is None else of_json(each, "string") for each in value]
    raise AssertionError(kind)


def json_text(value):
    """Write JSON again, without blanks; numbers stay as they are."""
    match value:
        case Number():
            return str(value)
        case Object():
            return "{" + ",".join(f"{json_text(name)}:{json_text(each)}" for name, each in value) + "}"
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
    for each in element:
        need(local(each) != "Fault", "a fault")
    found = [each for each in element if local(each) == name]
    need(len(found) == 1, f"not one {name}")
    return found[0]


def row_of(element, kinds):
    row = dict.fromkeys(kinds)
    seen = set()
    for each in element:
        name = local(each)
        kind = kinds.get(name)
        if kind is None:
            continue
        text = "".join(each.itertext())
        if kind == "array<string>":
            row[name] = [*(row[name] or ()), text]
            continue
        need(name not in seen, "several elements")
        seen.add(name)
        need(kind == "string" or len(each) == 0, "elements")
        text = text if kind == "string" else text.strip()
        row[name] = of_text(text, kind) if text or kind == "string" else None
    return row


def avro_value(value, schema):
    """Read by a schema without logical types, whose values may not fit in Python's."""
    source = io.BytesIO(value)
    row = fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)
    need(not source.read(), "there is more")
    need(FIRST <= row["at"] <= LAST)
    whole(row["small"], "int")
    if row["price"] is not None:
        unscaled = int.from_bytes(row["price"], "big", signed=True)
        need(abs(unscaled) < 10**10)
        row["price"] = Decimal(unscaled).scaleb(-2)
    return row
