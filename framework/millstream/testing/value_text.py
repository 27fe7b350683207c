"""Formats a value as YAML on one line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any


def format_value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case datetime():
            return _time(value)
        case date():
            return value.isoformat()
        case float():
            return str(value) if math.isfinite(value) else {"nan": "NaN"}.get(str(value), "Infinity")
        case Decimal():
            return format(value, "f")
        case bytes():
            return _bytes(value)
        case Mapping():
            return "{" + ", ".join(f"{name}: {format_value(inner)}" for name, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(format_value, value)) + "]"
        case str():
            return _text(value)
        case _:
            return str(value)


def _text(value: str) -> str:
    """Return a text on one line, with control characters escaped."""
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)
    return f'"{escaped}"' if not escaped or escaped != escaped.strip() or _needs_quotes(escaped) else escaped


def _needs_quotes(text: str) -> bool:
    """Tell whether YAML would not read a text as text without quotes."""
    if text.lower() in {"null", "true", "false", "~", "yes", "no", "on", "off"}:
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def _time(value: datetime) -> str:
    bare = value.replace(tzinfo=None)
    text = bare.isoformat(sep=" ", timespec="microseconds" if bare.microsecond else "seconds")
    return text.rstrip("0").rstrip(".") if bare.microsecond else text


def _bytes(value: bytes) -> str:
    try:
        return _text(value.decode())
    except UnicodeDecodeError:
        return "{hex: " + value.hex() + "}"
