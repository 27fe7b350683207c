"""Texts as values of a type, read as strictly as Spark's functions read them."""

from __future__ import annotations

import base64
import re
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal as Number
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Decimal,
    Type,
)
from millstream.formats.reasons import not_a, with_article
from millstream.formats.values import UnfitError, encode_utf8

BITS = {TINYINT: 7, SMALLINT: 15, INT: 31, BIGINT: 63}
_READ = {*BITS, FLOAT, DOUBLE, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, BINARY, STRING}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_SPECIAL = {
    "NaN": "nan",
    **dict.fromkeys(("Infinity", "+Infinity", "Inf", "+INF"), "inf"),
    **dict.fromkeys(("-Infinity", "-Inf", "-INF"), "-inf"),
}
_BLANKS = "[\\x00-\\x20]*"
_BASE64 = re.compile(
    rf"{_BLANKS}(?:[A-Za-z0-9+/]{{4}}{_BLANKS})*(?:(?:[A-Za-z0-9+/]{{2}}==|[A-Za-z0-9+/]{{3}}=){_BLANKS})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?)?)?)?",
    re.DOTALL,
)
"""What Spark reads as a timestamp, if it has a whole date."""
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{1,2}))?(?::?([0-9]{2}))?")
_MOST_OFFSET = timedelta(hours=18)
_GREATEST_FLOAT = 3.4028235677973366e38
"""Half a step more than the greatest: from there on, a float is infinite."""
_LARGEST_SCALE = 1000


def is_read(type_: Type) -> bool:
    """Whether a text can be a value of a type."""
    return isinstance(type_, Decimal) or type_ in _READ


def read_text(text: str, type_: Type) -> object:
    """Return the value of a text; raise UnfitError if it is not exactly one of the type."""
    match type_:
        case Decimal():
            if not _NUMBER.fullmatch(text):
                raise not_a(text, with_article(type_))
            return to_decimal(text, type_)
        case _ if type_ in BITS:
            if not _INTEGER.fullmatch(text):
                raise not_a(text, with_article(type_))
            return to_integer(Number(text), text, type_)
        case _ if type_ in {FLOAT, DOUBLE}:
            return to_number(text, type_) if _NUMBER.fullmatch(text) else to_special(text, type_)
        case _ if type_ == BOOLEAN:
            if text.lower() not in {"true", "false"}:
                raise not_a(text, "true or false")
            return text.lower() == "true"
        case _ if type_ == DATE:
            return read_date(text)
        case _ if type_ in {TIMESTAMP, TIMESTAMP_NTZ}:
            return read_time(text, type_)
        case _ if type_ == BINARY:
            return encode_utf8(text)
        case _:
            assert type_ == STRING, type_
            return check_text(text)


def read_base64(text: str) -> bytes:
    """Return the bytes of base64; raise UnfitError if it is not exactly what bytes are written as.

    There may be blanks between groups of four digits: some writers put them into lines.
    """
    digits = re.sub(_BLANKS, "", text)
    if not _BASE64.fullmatch(text):
        raise not_a(text, "base64")
    content = base64.b64decode(digits, validate=True)
    # Python ignores bits of the last character that belong to no byte: it reads `AAF=` as `AAE=`.
    if base64.b64encode(content).decode() != digits:
        raise not_a(text, "base64")
    return content


def check_text(text: str) -> str:
    """Return a text, which must have no half of a surrogate pair."""
    try:
        encode_utf8(text)
    except UnfitError:
        raise not_a(text, "a valid text: it has half of a surrogate pair") from None
    return text


def to_integer(value: Number, text: str, type_: Type) -> int:
    """Return a number, written as a text, as one of the integers."""
    bits = BITS[type_]  # type: ignore[index]
    if value and value.adjusted() > bits:
        raise not_a(text, with_article(type_))
    truncated = int(value)
    if truncated != value or not -(2**bits) <= truncated < 2**bits:
        raise not_a(text, with_article(type_))
    return truncated


def to_number(text: str, type_: Type) -> float:
    parsed = float(text)
    if abs(parsed) >= (_GREATEST_FLOAT if type_ == FLOAT else float("inf")):
        raise not_a(text, with_article(type_))
    return parsed


def to_special(text: str, type_: Type) -> float:
    if text not in _SPECIAL:
        raise not_a(text, with_article(type_))
    return float(_SPECIAL[text])


def to_decimal(text: str, type_: Decimal) -> Number:
    """Return a number as a decimal of a type, if that has all of its digits."""
    try:
        value = Number(text)
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and abs(exponent) <= _LARGEST_SCALE:
            sign, digits, _ = value.as_tuple()
            shift = exponent + type_.scale
            unscaled = int("".join(map(str, digits)))
            scaled, lost = (unscaled * 10**shift, 0) if shift >= 0 else divmod(unscaled, 10**-shift)
            if not lost and scaled < 10**type_.precision:
                return Number((sign if scaled else 0, tuple(map(int, str(scaled))), -type_.scale))
    except ArithmeticError:
        pass  # an exponent that no number has
    raise not_a(text, with_article(type_))


def read_date(text: str) -> date:
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise not_a(text, "a date")


def read_time(text: str, type_: Type) -> datetime:
    """Return a timestamp, which is in UTC unless its text says otherwise, or a local one."""
    expected = "a timestamp" if type_ == TIMESTAMP else "a timestamp without time zone"
    match = _TIME.fullmatch(text.rstrip("".join(map(chr, range(33))) + "\x7f"))
    try:
        if match is None or (match[6] and type_ != TIMESTAMP):
            raise not_a(text, expected)
        hour, minute, second = (int(part or 0) for part in match.group(2, 3, 4))
        micros = int(((match[5] or "") + "000000")[:6])
        day = date.fromisoformat(match[1])
        local = datetime(day.year, day.month, day.day, hour, minute, second, micros)  # noqa: DTZ001 - the zone is added
        if type_ != TIMESTAMP:
            return local
        return local.replace(tzinfo=_zone(match[6].strip()) if match[6] else timezone.utc).astimezone(
            timezone.utc
        )
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        raise not_a(text, expected) from None


def _zone(name: str) -> tzinfo:
    if name in {"Z", "z"}:
        return timezone.utc
    if match := _OFFSET.fullmatch(name):
        hours, minutes, seconds = (int(part or 0) for part in match.group(2, 3, 4))
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        if offset > _MOST_OFFSET or max(minutes, seconds) > 59:
            raise ValueError(name)
        return timezone(-offset if match[1] == "-" else offset)
    return ZoneInfo(name)


def of_seconds(seconds: int) -> datetime:
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)
    except OverflowError:
        raise not_a(seconds, "a timestamp in seconds since 1970") from None
