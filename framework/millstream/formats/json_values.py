"""JSON as values of types, read as strictly as Spark's functions read it, and types as JSON."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal as Number
from typing import Any, NoReturn

from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    Array,
    Decimal,
    Map,
    Row,
    Type,
)
from millstream.formats.format import Fields
from millstream.formats.reasons import add_context, not_a, quote_value, with_article
from millstream.formats.text_values import (
    BITS,
    check_text,
    of_seconds,
    read_base64,
    read_date,
    read_text,
    read_time,
    to_decimal,
    to_integer,
    to_number,
)
from millstream.formats.values import UnfitError, decode_utf8

_TEXT_OF_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""What JSON has no numbers for; CSV and XML have more names."""
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class WrittenNumber(str):
    """A number as it is written."""

    __slots__ = ()


class JsonObject(list[tuple[str, Any]]):
    """The fields of an object, of which some may be there twice."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"Non-standard token '{name}'")


_PARSER = json.JSONDecoder(
    object_pairs_hook=JsonObject,
    parse_float=WrittenNumber,
    parse_int=WrittenNumber,
    parse_constant=_no_constant,
)


def parse_json(value: bytes, *, what: str = "value") -> Any:
    """Return a whole value as its parts; raise UnfitError for what is not JSON."""
    text = utf8_strict(value)
    start = len(text) - len(text.lstrip(" \t\n\r"))
    if start == len(text):
        raise UnfitError("the value is empty")
    try:
        parts, end = _PARSER.raw_decode(text, start)
    except RecursionError:
        raise UnfitError("not JSON: it is nested too deeply") from None
    except ValueError as error:
        raise UnfitError(f"not JSON: {str(error).partition(': line ')[0]}") from None
    if text[end:].strip(" \t\n\r"):
        raise UnfitError(f"there is more after the JSON {what}")
    return parts


def utf8_strict(value: bytes) -> str:
    try:
        return decode_utf8(value)
    except UnfitError:
        raise UnfitError("the value is not valid UTF-8") from None


def read_object(value: bytes, fields: Fields) -> dict[str, Any]:
    """Return the values of the fields of an object; it may have more fields."""
    parts = parse_json(value, what="object")
    if not isinstance(parts, JsonObject):
        raise UnfitError("the value is not a JSON object")
    try:
        row = _fields(parts, [(field.name, field.type) for field in fields], closed=False)
    except RecursionError:
        raise UnfitError("not JSON: it is nested too deeply") from None
    for field in fields:
        if not field.nullable and row[field.name] is None:
            raise add_context(field.name, UnfitError("the value is missing"))
    return row


def read_json(text: str, type_: Type) -> Any:
    """Return the value of a text, which has nothing else: objects have only the fields of the type."""
    try:
        parts = parse_json(text.encode("utf-8", "surrogatepass"))
        return _value(parts, type_, closed=True)
    except RecursionError:
        raise UnfitError("not JSON: it is nested too deeply") from None


def read_single(value: bytes, type_: Type, *, nullable: bool = True) -> Any:
    parts = parse_json(value)
    if parts is None:
        if not nullable:
            raise UnfitError("the value is null")
        return None
    return _value(parts, type_, closed=False)


def read_fields(parts: JsonObject, fields: Sequence[tuple[str, Type]]) -> dict[str, Any]:
    """Return the values of some fields of an object."""
    return _fields(parts, fields, closed=False)


def read_part(part: Any, type_: Type) -> Any:
    """Return the value of a part, which is not NULL."""
    return _value(part, type_, closed=False)


def _fields(members: JsonObject, fields: Sequence[tuple[str, Type]], *, closed: bool) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(name for name, _ in fields)
    types, seen = dict(fields), set()
    for name, part in members:
        if name not in types:
            if closed:
                raise UnfitError(f"{quote_value(name)} is not a field of the schema")
            continue
        if name in seen:
            raise add_context(name, UnfitError("the object has it twice"))
        seen.add(name)
        row[name] = _inner(name, part, types[name], closed=closed)
    return row


def _inner(name: str, part: Any, type_: Type, *, closed: bool) -> Any:
    try:
        return None if part is None else _value(part, type_, closed=closed)
    except UnfitError as error:
        raise add_context(name, error) from None


def _value(part: Any, type_: Type, *, closed: bool) -> Any:
    match type_:
        case Array(element=element):
            _expect(part, list, "an array")
            return [_inner(f"[{index}]", inner, element, closed=closed) for index, inner in enumerate(part)]
        case Map(key=key, value=held):
            _expect(part, JsonObject, "an object")
            entries: dict[Any, Any] = {}
            seen = set()
            for name, inner in part:
                if name in seen:
                    raise add_context(name, UnfitError("the object has it twice"))
                seen.add(name)
                value = _inner(name, inner, held, closed=closed)
                entries[read_text(name, key)] = value
            return entries
        case Row(fields=fields):
            _expect(part, JsonObject, "an object")
            return _fields(part, [(field.name, field.type) for field in fields], closed=closed)
        case _:
            return _scalar(part, type_)


def _expect(part: Any, kind: type, expected: str) -> None:
    if type(part) is not kind:
        raise _unexpected(part, expected)


def _unexpected(part: Any, expected: str) -> UnfitError:
    match part:
        case JsonObject():
            return UnfitError(f"an object is not {expected}")
        case list():
            return UnfitError(f"an array is not {expected}")
        case str():
            return not_a(part, expected)
        case _:
            return not_a(raw_json(part), expected)


def _scalar(part: Any, type_: Type) -> Any:
    is_number = isinstance(part, WrittenNumber)
    is_text = isinstance(part, str) and not is_number
    match type_:
        case _ if type_ == STRING:
            return check_text(part) if is_text else check_text(raw_json(part))
        case _ if type_ == VARIANT:
            return check_text(raw_json(part))
        case _ if type_ in BITS and is_number:
            return _integer(part, type_)
        case _ if type_ in {FLOAT, DOUBLE} and is_number:
            return to_number(part, type_)
        case _ if type_ in {FLOAT, DOUBLE} and is_text and part in _SPECIAL:
            return _SPECIAL[part]
        case Decimal() if is_number:
            return to_decimal(part, type_)
        case Decimal() if is_text and _TEXT_OF_NUMBER.fullmatch(part.strip()):
            return to_decimal(part.strip(), type_)
        case _ if type_ == BOOLEAN:
            if not isinstance(part, bool):
                raise _unexpected(part, "true or false")
            return part
        case _ if type_ == DATE and is_text:
            return read_date(part)
        case _ if type_ == TIMESTAMP and is_number and part.lstrip("-").isdigit():
            return of_seconds(to_integer(Number(part), part, BIGINT))
        case _ if type_ in {TIMESTAMP, TIMESTAMP_NTZ} and is_text:
            return read_time(part, type_)
        case _ if type_ == BINARY and is_text:
            return read_base64(part)
        case _:
            raise _unexpected(part, with_article(type_))


def _integer(text: str, type_: Type) -> int:
    try:
        return to_integer(Number(text), text, type_)
    except ArithmeticError:
        raise not_a(text, with_article(type_)) from None


def raw_json(part: Any) -> str:
    """Return parts of JSON as a text, without spaces, and with numbers as they were written."""
    match part:
        case WrittenNumber():
            return str(part)
        case str():
            return f'"{_ESCAPED.sub(_escape, part)}"'
        case JsonObject():
            return f"{{{','.join(f'{raw_json(str(name))}:{raw_json(inner)}' for name, inner in part)}}}"
        case list():
            return f"[{','.join(map(raw_json, part))}]"
        case bool():
            return "true" if part else "false"
        case _:
            return "null"


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _SHORT.get(char) or f"\\u{ord(char):04X}"


def write_json(value: Any, type_: Type) -> str:
    """Return the JSON of a value; that of a variant is its text."""
    if value is None:
        return "null"
    match type_:
        case Array(element=element):
            return f"[{','.join(write_json(inner, element) for inner in value)}]"
        case Map(value=held):
            entries = (f"{raw_json(_name(key))}:{write_json(inner, held)}" for key, inner in value.items())
            return f"{{{','.join(entries)}}}"
        case Row(fields=fields):
            named = (
                f"{raw_json(field.name)}:{write_json(value[field.name], field.type)}" for field in fields
            )
            return f"{{{','.join(named)}}}"
        case _ if type_ == VARIANT:
            return str(value)
        case _:
            return _written(value)


def write_any(value: Any) -> str:
    """Return the JSON of a value without a type."""
    match value:
        case dict():
            return f"{{{','.join(f'{raw_json(name)}:{write_any(inner)}' for name, inner in value.items())}}}"
        case list():
            return f"[{','.join(map(write_any, value))}]"
        case None:
            return "null"
        case _:
            return _written(value)


def _name(key: Any) -> str:
    return key if isinstance(key, str) else _written(key).strip('"')


def _written(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _double(value)
        case Number():
            return format(value, "f")
        case bytes():
            return f'"{base64.b64encode(value).decode()}"'
        case datetime():
            text = value.isoformat() if value.tzinfo is None else value.astimezone(timezone.utc).isoformat()
            return f'"{text.replace("+00:00", "Z")}"'
        case date():
            return f'"{value.isoformat()}"'
        case _:
            return raw_json(value)


_EXACT = 2**53


def _double(value: float) -> str:
    """Return a number as Spark's functions write it: whole ones without a fraction."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    if value.is_integer() and abs(value) <= _EXACT and not (value == 0 and math.copysign(1, value) < 0):
        return str(int(value))
    # Java's BigDecimal and Python's write a number alike.
    return str(Number(repr(value)).normalize()) if value else "-0.0"
