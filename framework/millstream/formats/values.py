"""Conversions of Python values to texts, numbers and JSON, for the formats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from millstream.core.types import BOOLEAN, DOUBLE, FLOAT, INTEGERS, Type
from millstream.formats.format import Fields


class UnfitError(ValueError):
    """A value that a format can't encode, or bytes that it can't decode, with the reason."""


def single_value(value: Any, fields: Fields) -> Any:
    """Return the value of a single-column format, which may be given as a mapping with one entry."""
    if isinstance(value, Mapping):
        if len(value) != 1:
            names = ", ".join(field.name for field in fields) or "one field"
            raise UnfitError(f"expected only {names}, not {', '.join(map(str, value))}")
        return next(iter(value.values()))
    return value


def as_mapping(value: Any) -> Any:
    """Return a dataclass as a mapping, and anything else unchanged."""
    if not hasattr(type(value), "__dataclass_fields__"):
        return value
    from dataclasses import asdict  # only generators yield dataclasses

    return asdict(value)


def row_values(value: Any, fields: Fields) -> list[Any]:
    """Return the values of all fields, in order, from a mapping, a dataclass or a sequence."""
    value = as_mapping(value)
    if isinstance(value, Mapping):
        folded = {str(name).lower(): column_value for name, column_value in value.items()}
        names = {field.name.lower() for field in fields}
        if unknown := [str(name) for name in value if str(name).lower() not in names]:
            raise UnfitError(f"'{unknown[0]}' is not a column; columns: {', '.join(f.name for f in fields)}")
        return [folded.get(field.name.lower()) for field in fields]
    if isinstance(value, list | tuple):
        if len(value) != len(fields):
            raise UnfitError(f"found {len(value)} values for {len(fields)} columns")
        return list(value)
    raise UnfitError(f"expected a mapping of columns, not {type(value).__name__}")


def text_of(value: Any) -> str:
    """Return a single value as text that Spark can read."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case date():  # or datetime
            return value.isoformat()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        case int() | float():
            return repr(value)
        case Decimal():
            return format(value, "f")
        case bytes():
            return decode_utf8(value)
        case _:
            raise UnfitError(f"expected a single value, not {type(value).__name__}")


def value_of(text: str, type_: Type) -> Any:
    """Parse a text as a value of a type; types that JSON lacks stay texts."""
    try:
        if type_ in INTEGERS:
            return int(text)
        if type_ in {FLOAT, DOUBLE}:
            return float(text)
        if type_ == BOOLEAN:
            return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        raise UnfitError(f"'{text}' is not a valid {type_}") from None
    return text


def decode_utf8(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise UnfitError(f"not UTF-8 at byte {error.start}") from None


def encode_utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnfitError("the text contains a lone surrogate, which is half a character") from None


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def _number(text: str) -> Decimal | str:
    """Return a number with all of its digits; one whose exponent no number has stays a text."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


_DECODER = msgspec.json.Decoder(float_hook=_number)


def to_json(value: Any) -> bytes:
    """Write JSON for Spark: decimals as numbers, bytes as base64, times as ISO 8601."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, OverflowError, ValueError, UnicodeEncodeError, RecursionError) as error:
        raise UnfitError(str(error)) from None


def from_json(value: bytes) -> Any:
    """Read JSON; numbers keep all their digits."""
    try:
        return _DECODER.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UnfitError(f"not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
