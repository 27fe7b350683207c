"""Values as YAML, CSV and JSON write them become values of a column's type, or the reason why they can't."""

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

from millstream.errors import did_you_mean
from millstream.types import (
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
    """A value that a column can't hold; `path` leads to it within a nested one."""

    def __init__(self, message: str, remedy: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.path = path


def convert(value: Any, wanted: Type, zone: ZoneInfo) -> Any:
    """Return a value as one of a type; times without a zone are in `zone`, times come out in UTC."""
    if value is None:
        return None
    match wanted:
        case Array(element=element):
            if not isinstance(value, list | tuple):
                raise _wrong(value, wanted, "write [a, b]")
            return [_within(i, each, element, zone) for i, each in enumerate(value)]
        case Map(key=key, value=held):
            if not isinstance(value, Mapping):
                raise _wrong(value, wanted, "write {key: value}")
            return {_key(each, key, zone): _within(each, given, held, zone) for each, given in value.items()}
        case Row():
            return _struct(value, wanted, zone)
        case Decimal():
            return _decimal(value, wanted)
        case _:
            return _simple(value, wanted, zone)


def _within(place: str | int, value: Any, wanted: Type, zone: ZoneInfo) -> Any:
    try:
        return convert(value, wanted, zone)
    except WrongValueError as error:
        raise WrongValueError(str(error), error.remedy, (place, *error.path)) from None


def _key(text: Any, wanted: Type, zone: ZoneInfo) -> Any:
    """Return a key of a map, which YAML and JSON may have made a text of."""
    return convert_text(text, wanted, zone) if isinstance(text, str) else convert(text, wanted, zone)


def _struct(value: Any, wanted: Row, zone: ZoneInfo) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(value, wanted, "write {field: value}")
    names = [field.name for field in wanted.fields]
    folded = {str(name).lower(): name for name in value}
    for name in value:
        if wanted.field(str(name)) is None:
            remedy = did_you_mean(str(name), names, f"its fields are {', '.join(names)}")
            raise WrongValueError(f"there is no field '{name}'", remedy, (str(name),))
    return {
        field.name: _within(field.name, value[folded[field.name.lower()]], field.type, zone)
        if field.name.lower() in folded
        else None
        for field in wanted.fields
    }


def _decimal(value: Any, wanted: Decimal) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str | decimal.Decimal):
        raise _wrong(value, wanted, "write a number")
    try:
        found = decimal.Decimal(str(value))
        exact = found.quantize(decimal.Decimal(1).scaleb(-wanted.scale), context=decimal.Context(prec=60))
    except decimal.InvalidOperation:
        raise _wrong(value, wanted, "write a number") from None
    if exact != found or len(exact.as_tuple().digits) > wanted.precision:
        raise _wrong(value, wanted, f"write at most {wanted.scale} digits after the point")
    return exact


def _simple(value: Any, wanted: Type, zone: ZoneInfo) -> Any:
    if wanted in INTEGERS:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(value, wanted, "write a whole number")
        if not -(1 << _BITS[wanted] - 1) <= value < 1 << _BITS[wanted] - 1:
            raise _wrong(value, wanted, "write a smaller number")
        return value
    if wanted in {FLOAT, DOUBLE}:
        return _float(value, wanted)
    if wanted == BOOLEAN:
        if not isinstance(value, bool):
            raise _wrong(value, wanted, "write true or false")
        return value
    if wanted == STRING:
        if not isinstance(value, str):
            raise _wrong(value, wanted, f'put it in quotes: "{_shown(value)}"')
        return value
    if wanted == BINARY:
        return to_bytes(value)
    if wanted in {TIMESTAMP, TIMESTAMP_NTZ}:
        return to_timestamp(value, zone, local=wanted == TIMESTAMP_NTZ)
    if wanted == DATE:
        return _date(value)
    return value


def _float(value: Any, wanted: Type) -> float:
    named = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf}
    if isinstance(value, str) and value.lower() in named:
        return named[value.lower()]
    if isinstance(value, bool) or not isinstance(value, int | float | decimal.Decimal):
        raise _wrong(value, wanted, "write a number")
    return float(value)


def to_bytes(value: Any) -> bytes:
    """Return bytes: of a text its UTF-8, or what `{hex: …}` and `{base64: …}` say."""
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
    """Return a point in time in UTC; `local` keeps a time without zone as it is."""
    if isinstance(value, datetime):
        found = value
    else:
        try:
            found = datetime.fromisoformat(_padded(value))
        except (TypeError, ValueError):
            remedy = 'write "2026-01-31 12:00:00"'
            raise WrongValueError(f"{_quoted(value)} is not a timestamp", remedy) from None
    if local:
        return found.replace(tzinfo=None)
    return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(timezone.utc)


def _padded(text: str) -> str:
    """Return a time as Python 3.10 reads it: with +00:00 for Z, and three or six digits of a second."""
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


def convert_text(text: str, wanted: Type, zone: ZoneInfo) -> Any:
    """Return what a field of a CSV file says; nested values are JSON."""
    try:
        match wanted:
            case Array() | Map() | Row():
                return convert(json.loads(text), wanted, zone)
            case _ if wanted in INTEGERS:
                return convert(int(text), wanted, zone)
            case _ if wanted in {FLOAT, DOUBLE}:
                return convert(float(text), wanted, zone)
            case _ if wanted == BOOLEAN:
                return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        raise WrongValueError(f"'{text}' is not a valid {wanted}", "write a valid value") from None
    return convert(text, wanted, zone)


def _wrong(value: Any, wanted: Type, remedy: str) -> WrongValueError:
    return WrongValueError(f"{_quoted(value)} is not a valid {wanted}", remedy)


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
