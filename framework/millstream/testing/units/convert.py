"""Converts values from YAML, CSV and JSON to the type of a column."""

from __future__ import annotations

import base64
import binascii
import decimal
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo

from millstream.core.errors import did_you_mean
from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    Decimal,
    Map,
    Row,
    Type,
)

_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}


class WrongValueError(ValueError):
    """A value that doesn't fit the type of its column; `path` locates it inside a nested value."""

    def __init__(self, message: str, remedy: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.path = path


def convert_value(value: Any, type_: Type, zone: ZoneInfo, *, partial: bool = False) -> Any:
    """Convert a value to a type; times without a zone are in `zone`, results are in UTC.

    Fields that a struct lacks are NULL in it, unless it may be `partial`.
    """
    if value is None:
        return None
    match type_:
        case Array(element=element):
            if not isinstance(value, list | tuple):
                raise _wrong(value, type_, "write [a, b]")
            return [_within(i, inner, element, zone, partial) for i, inner in enumerate(value)]
        case Map(key=key, value=held):
            if not isinstance(value, Mapping):
                raise _wrong(value, type_, "write {key: value}")
            return {
                _key(map_key, key, zone): _within(map_key, map_value, held, zone, partial)
                for map_key, map_value in value.items()
            }
        case Row():
            return _struct(value, type_, zone, partial)
        case Decimal():
            return _decimal(value, type_)
        case _:
            return _simple(value, type_, zone)


def _within(step: str | int, value: Any, type_: Type, zone: ZoneInfo, partial: bool) -> Any:
    try:
        return convert_value(value, type_, zone, partial=partial)
    except WrongValueError as error:
        raise WrongValueError(str(error), error.remedy, (step, *error.path)) from None


def _key(text: Any, type_: Type, zone: ZoneInfo) -> Any:
    """Convert the key of a map, which may be text in YAML and JSON."""
    return convert_text(text, type_, zone) if isinstance(text, str) else convert_value(text, type_, zone)


def _struct(value: Any, type_: Row, zone: ZoneInfo, partial: bool) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(value, type_, "write {field: value}")
    names = [field.name for field in type_.fields]
    folded = {str(name).lower(): name for name in value}
    for name in value:
        if type_.field(str(name)) is None:
            remedy = did_you_mean(str(name), names, f"fields: {', '.join(names)}")
            raise WrongValueError(f"there is no field '{name}'", remedy, (str(name),))
    return {
        field.name: _within(field.name, value[folded[name]], field.type, zone, partial)
        if name in folded
        else None
        for field in type_.fields
        if (name := field.name.lower()) in folded or not partial
    }


def _decimal(value: Any, type_: Decimal) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str | decimal.Decimal):
        raise _wrong(value, type_, "write a number")
    try:
        number = decimal.Decimal(str(value))
        exact = number.quantize(decimal.Decimal(1).scaleb(-type_.scale), context=decimal.Context(prec=60))
    except decimal.InvalidOperation:
        raise _wrong(value, type_, "write a number") from None
    if exact != number or len(exact.as_tuple().digits) > type_.precision:
        raise _wrong(value, type_, f"write at most {type_.scale} digits after the point")
    return exact


def _simple(value: Any, type_: Type, zone: ZoneInfo) -> Any:
    if type_ in INTEGERS:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(value, type_, "write a whole number")
        if not -(1 << _BITS[type_] - 1) <= value < 1 << _BITS[type_] - 1:
            raise _wrong(value, type_, "write a smaller number")
        return value
    if type_ in {FLOAT, DOUBLE}:
        return _float(value, type_)
    if type_ == BOOLEAN:
        if not isinstance(value, bool):
            raise _wrong(value, type_, "write true or false")
        return value
    if type_ == STRING:
        if not isinstance(value, str):
            raise _wrong(value, type_, f'put it in quotes: "{_shown(value)}"')
        return value
    if type_ == BINARY:
        return to_bytes(value)
    if type_ in {TIMESTAMP, TIMESTAMP_NTZ}:
        return to_timestamp(value, zone, local=type_ == TIMESTAMP_NTZ)
    if type_ == DATE:
        return _date(value)
    return value


def _float(value: Any, type_: Type) -> float:
    named = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf}
    if isinstance(value, str) and value.lower() in named:
        return named[value.lower()]
    if isinstance(value, bool) or not isinstance(value, int | float | decimal.Decimal):
        raise _wrong(value, type_, "write a number")
    return float(value)


def to_bytes(value: Any) -> bytes:
    """Convert a text, `{hex: …}` or `{base64: …}` to bytes."""
    try:
        match value:
            case bytes():
                return value
            case str():
                return value.encode()
            case {"hex": str(written)} if len(value) == 1:
                return bytes.fromhex(written)
            case {"base64": str(written)} if len(value) == 1:
                return base64.b64decode(written, validate=True)
    except (ValueError, binascii.Error):
        pass
    raise _wrong(value, BINARY, "write a text, {hex: ff00} or {base64: …}")


def to_timestamp(value: Any, zone: ZoneInfo, *, local: bool = False) -> datetime:
    """Convert a value to a time in UTC; `local` drops the zone instead."""
    if isinstance(value, datetime):
        time = value
    else:
        try:
            # `fromisoformat` refuses what is no text.
            time = datetime.fromisoformat(_padded(value) if isinstance(value, str) else value)
        except (TypeError, ValueError):
            remedy = 'write "2026-01-31 12:00:00"'
            raise WrongValueError(f"{_quoted(value)} is not a timestamp", remedy) from None
    if local:
        return time.replace(tzinfo=None)
    return (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(timezone.utc)


def _padded(text: str) -> str:
    """Return a time in the form that Python 3.10 can read: +00:00 for Z, and six digits of a second."""
    text = text.strip()
    text = f"{text[:-1]}+00:00" if text.endswith(("Z", "z")) else text
    head, point, rest = text.partition(".")
    if not point:
        return text
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return f"{head}.{digits[:6]:0<6}{rest[len(digits) :]}"


def _date(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise WrongValueError(f"{_quoted(value)} is not a date", 'write "2026-01-31"') from None


def convert_text(text: str, type_: Type, zone: ZoneInfo) -> Any:
    """Convert a field of a CSV file; nested values are JSON."""
    try:
        match type_:
            case Array() | Map() | Row():
                return convert_value(json.loads(text), type_, zone)
            case _ if type_ in INTEGERS:
                return convert_value(int(text), type_, zone)
            case _ if type_ in {FLOAT, DOUBLE}:
                return convert_value(float(text), type_, zone)
            case _ if type_ == BOOLEAN:
                return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        raise WrongValueError(f"'{text}' is not a valid {type_}", "write a valid value") from None
    return convert_value(text, type_, zone)


def _wrong(value: Any, type_: Type, remedy: str) -> WrongValueError:
    return WrongValueError(f"{_quoted(value)} is not a valid {type_}", remedy)


def _quoted(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else _shown(value)


def _shown(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list() | tuple():
            return "a list"
        case Mapping():
            return "a mapping"
        case _:
            return str(value)
