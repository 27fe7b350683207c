"""The rows of a result as a table, without the parts of rich that are slow to import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

from millstream.cli.output import Part
from millstream.cli.result_values import as_text
from millstream.core.text import clean_text

NULL = "NULL"
_GAP = "  "
_LEAST = 8
"""The minimum width of a column that is cut."""


class Cell(Struct, frozen=True):
    text: str
    style: str = ""
    right: bool = False


def format_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None, zone: tzinfo
) -> list[Part]:
    """Align rows below their column names; cut to `width` cells if there is one."""
    cells = [[_cell(value, zone) for value in row] for row in rows]
    rights = [
        any(row[index].right for row in cells) and all(row[index].right or row[index].style for row in cells)
        for index in range(len(columns))
    ]
    names = [clean_text(name) for name in columns]
    needed = [
        max([cell_len(name), *(cell_len(row[index].text) for row in cells)])
        for index, name in enumerate(names)
    ]
    widths = needed if width is None else fit_widths(needed, width)
    head = [Cell(name, "bold", right) for name, right in zip(names, rights, strict=True)]
    rule = [Cell("─" * width, "dim") for width in widths]
    aligned = [[Cell(c.text, c.style, right) for c, right in zip(row, rights, strict=True)] for row in cells]
    parts: list[Part] = []
    for row in [head, rule, *aligned]:
        parts += [("\n", "")] if parts else []
        parts += _line(row, widths)
    if left_out := len(columns) - len(widths):
        names_left = ", ".join(names[len(widths) :])
        parts.append((f"\n… {left_out} more column{'s' if left_out > 1 else ''}: {names_left}", "dim"))
    return parts


def fit_widths(needed: Sequence[int], width: int) -> list[int]:
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


def _line(row: Sequence[Cell], widths: Sequence[int]) -> Iterator[Part]:
    for index, (cell, width) in enumerate(zip(row, widths, strict=False)):
        last = index == len(widths) - 1
        size = cell_len(cell.text)
        shown = cell.text if size <= width else set_cell_size(cell.text, width - 1) + "…"
        blanks = " " * max(0, width - size)
        yield (_GAP if index else "") + (blanks if cell.right else ""), ""
        yield shown, cell.style
        yield "" if cell.right or last else blanks, ""


def _cell(value: Any, zone: tzinfo) -> Cell:
    if value is None:
        return Cell(NULL, "dim italic")
    text = clean_text(as_text(value, zone))
    if isinstance(value, str) and (value in {"", NULL} or value != value.strip()):
        # Quoted, so that it differs from NULL, and blanks are visible.
        text = f"'{text}'"
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return Cell(text, right=number)
