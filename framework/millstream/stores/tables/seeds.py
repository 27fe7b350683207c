"""Reads seeds as rows of typed values."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from millstream.core.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
)
from millstream.project.seed_rows import seed_texts
from millstream.project.values import Seed

_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.(\d{1,9}))?)?(?: ?(Z|UTC|[+-]\d\d(?::?\d\d)?))?"
)


def typed_rows(root: Path, seed: Seed, zone: str) -> list[tuple[Any, ...]]:
    """Return a seed's rows; times without a zone are in `zone`. The texts were already checked."""
    readers = [reader_of(column.type or STRING, zone) for column in seed.columns]
    return [
        tuple(None if text is None else read(text) for read, text in zip(readers, row, strict=True))
        for row in seed_texts(root, seed)
    ]


def reader_of(type_: Type, zone: str) -> Callable[[str], Any]:
    if type_ in INTEGERS:
        return int
    if type_ in {FLOAT, DOUBLE}:
        return float
    time_zone = ZoneInfo(zone)
    readers: dict[Type, Callable[[str], Any]] = {
        BOOLEAN: lambda text: text.lower() == "true",
        BINARY: str.encode,
        DATE: date.fromisoformat,
        TIMESTAMP: lambda text: parse_timestamp(text, time_zone),
        TIMESTAMP_NTZ: lambda text: parse_timestamp(text, timezone.utc).replace(tzinfo=None),
    }
    return readers.get(type_, str)


def parse_timestamp(text: str, zone: ZoneInfo | timezone) -> datetime:
    """Parse a time of a seed; `fromisoformat` of older Python versions can't parse all forms."""
    match = _TIMESTAMP.fullmatch(text)
    assert match is not None
    day, minutes, seconds, fraction, offset = match.groups()
    plain = datetime.fromisoformat(f"{day}T{minutes or '00:00'}{seconds or ':00'}")
    exact = plain.replace(microsecond=int((fraction or "0")[:6].ljust(6, "0")))
    if offset is None:
        return exact.replace(tzinfo=zone)
    if offset in {"Z", "UTC"}:
        return exact.replace(tzinfo=timezone.utc)
    sign = -1 if offset[0] == "-" else 1
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return exact.replace(tzinfo=timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))))
