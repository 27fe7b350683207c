"""The rows of a result as a table, as CSV, and as JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from itertools import count
from typing import Any

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from millstream.text import clean

NULL = "NULL"
_GAP = "  "
_LEAST = 8
"""The minimum width of a column that is cut."""


class Cell(Struct, frozen=True):
    text: str
    style: str = ""
    right: bool = False


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None, zone: tzinfo) -> Text:
    """Align rows below their column names; cut to `width` cells if there is one."""
    cells = [[_cell(value, zone) for value in row] for row in rows]
    rights = [
        any(row[index].right for row in cells) and all(row[index].right or row[index].style for row in cells)
        for index in range(len(columns))
    ]
    names = [clean(name) for name in columns]
    needed = [
        max([cell_len(name), *(cell_len(row[index].text) for row in cells)])
        for index, name in enumerate(names)
    ]
    widths = needed if width is None else fitted(needed, width)
    head = [Cell(name, "bold", right) for name, right in zip(names, rights, strict=True)]
    rule = [Cell("─" * each, "dim") for each in widths]
    aligned = [[Cell(c.text, c.style, right) for c, right in zip(row, rights, strict=True)] for row in cells]
    text = Text("\n").join(_line(row, widths) for row in [head, rule, *aligned])
    if left_out := len(columns) - len(widths):
        names_left = ", ".join(names[len(widths) :])
        text.append(f"\n… {left_out} more column{'s' if left_out > 1 else ''}: {names_left}", "dim")
    return text


def fitted(needed: Sequence[int], width: int) -> list[int]:
    """Return widths that fit: the last columns are left out, then the widest are cut."""
    widths = list(needed)
    while len(widths) > 1 and sum(min(w, _LEAST) for w in widths) + len(_GAP) * (len(widths) - 1) > width:
        widths.pop()
    room = width - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room and (widest := max(widths)) > 1:
        second = max((w for w in widths if w < widest), default=1)
        several = widths.count(widest)
        over = sum(widths) - room
        cut = min(widest - second, -(-over // several))
        widths = [w - cut if w == widest else w for w in widths]
    return widths


def _line(row: Sequence[Cell], widths: Sequence[int]) -> Text:
    line = Text()
    for index, (cell, width) in enumerate(zip(row, widths, strict=False)):
        last = index == len(widths) - 1
        size = cell_len(cell.text)
        shown = cell.text if size <= width else set_cell_size(cell.text, width - 1) + "…"
        blanks = " " * max(0, width - size)
        line.append(_GAP if index else "")
        line.append(blanks if cell.right else "")
        line.append(shown, cell.style or None)
        line.append("" if cell.right or last else blanks)
    return line


def _cell(value: Any, zone: tzinfo) -> Cell:
    if value is None:
        return Cell(NULL, "dim italic")
    text = clean(as_text(value, zone))
    if isinstance(value, str) and (value in {"", NULL} or value != value.strip()):
        # Quoted, so that it differs from NULL, and blanks are visible.
        text = f"'{text}'"
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return Cell(text, right=number)


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
        case dict() | list():
            return json.dumps(as_json(value, zone), ensure_ascii=False)
        case _:
            return str(value)


def csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], zone: tzinfo) -> str:
    """Return CSV: NULL is an empty field, an empty text `""`."""
    lines = [",".join(map(_field, columns))]
    lines += [",".join("" if v is None else _field(as_text(v, zone)) for v in row) for row in rows]
    return "\n".join(lines)


def _field(text: str) -> str:
    quote = not text or any(c in text for c in ',"\r\n') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if quote else text


def records(columns: Sequence[str], rows: Iterable[Sequence[Any]], zone: tzinfo) -> list[dict[str, Any]]:
    """Return an object for each row; a second column of the same name becomes `name_2`."""
    names: list[str] = []
    for name in columns:
        tries = (name if n == 1 else f"{name}_{n}" for n in count(1))
        names.append(next(each for each in tries if each not in names))
    return [dict(zip(names, (as_json(value, zone) for value in row), strict=True)) for row in rows]


def as_json(value: Any, zone: tzinfo) -> Any:
    """Return a value for JSON: decimals as text, to be exact; bytes in base64."""
    match value:
        case dict():
            return {str(as_json(key, zone)): as_json(each, zone) for key, each in value.items()}
        case list():
            return [as_json(each, zone) for each in value]
        case float() if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - NaN
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        case datetime():
            return (value.astimezone(zone) if value.tzinfo else value).isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal() | timedelta():
            return str(value)
        case _:
            return value if isinstance(value, str | int | float | None) else str(value)
