"""The values of a result as text, as CSV, and as JSON; unlike tables, they need no rich."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from itertools import count
from typing import Any

from msgspec import Raw


def as_text(value: Any, zone: tzinfo) -> str:
    """Return a value as text; times in the target's zone."""
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            local = value.astimezone(zone) if value.tzinfo else value
            return local.isoformat(" ").replace("+00:00", "Z")
        case bytes():
            return f"\\x{value.hex()}"
        case float():
            return repr(value)
        case Decimal():
            return format(value, "f")
        case dict() | list():
            return _nested(value, zone)
        case _:
            return str(value)


def _nested(value: Any, zone: tzinfo) -> str:
    """Return a struct, map or list as JSON; a decimal in it keeps its digits."""
    match value:
        case dict():
            items = (
                f"{json.dumps(_key(key, zone), ensure_ascii=False)}: {_nested(inner, zone)}"
                for key, inner in value.items()
            )
            return f"{{{', '.join(items)}}}"
        case list():
            return f"[{', '.join(_nested(inner, zone) for inner in value)}]"
        case Decimal():
            return format(value, "f")
        case _:
            return json.dumps(as_json(value, zone), ensure_ascii=False)


def format_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], zone: tzinfo) -> str:
    """Return CSV: NULL is an empty field, an empty text `""`."""
    lines = [",".join(map(_field, columns))]
    lines += [",".join("" if v is None else _field(as_text(v, zone)) for v in row) for row in rows]
    return "\n".join(lines)


def _field(text: str) -> str:
    quote = not text or any(c in text for c in ',"\r\n') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if quote else text


def to_objects(columns: Sequence[str], rows: Iterable[Sequence[Any]], zone: tzinfo) -> list[dict[str, Any]]:
    """Return an object for each row; a second column of the same name becomes `name_2`."""
    names: list[str] = []
    for name in columns:
        tries = (name if n == 1 else f"{name}_{n}" for n in count(1))
        names.append(next(candidate for candidate in tries if candidate not in names))
    return [dict(zip(names, (as_json(value, zone) for value in row), strict=True)) for row in rows]


def as_json(value: Any, zone: tzinfo) -> Any:
    """Return a value for JSON: decimals as numbers with all of their digits; bytes in base64."""
    match value:
        case dict():
            return {_key(key, zone): as_json(inner, zone) for key, inner in value.items()}
        case list():
            return [as_json(inner, zone) for inner in value]
        case float() if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - NaN
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        case datetime():
            return (value.astimezone(zone) if value.tzinfo else value).isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return Raw(format(value, "f").encode())
        case timedelta():
            return str(value)
        case _:
            return value if isinstance(value, str | int | float | None) else str(value)


def _key(key: Any, zone: tzinfo) -> str:
    return format(key, "f") if isinstance(key, Decimal) else str(as_json(key, zone))
