"""The rows that differ as a table: `-` was expected, `+` came, `~` marks what differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millstream.testing.styled_text import Line, Piece, Style, styled
from millstream.testing.units.row_diff import RowDiff, RowPair, equal_values
from millstream.testing.value_text import format_value

_WIDEST = 44
_ROWS = 20


def diff_lines(found: RowDiff) -> list[Line]:
    pairs = found.pairs[:_ROWS]
    columns = _columns(found)
    cells = [_cells(pair, columns) for pair in pairs]
    widths = [
        min(_WIDEST, max(len(name), *(len(text) for row in cells for text in row[i])))
        for i, name in enumerate(columns)
    ]
    header = "  ".join(_cut(name, width) for name, width in zip(columns, widths, strict=True))
    lines = [styled(f"    {header}", "bold")]
    for pair, row in zip(pairs, cells, strict=True):
        lines += _pair_lines(pair, columns, row, widths)
    if len(found.pairs) > len(pairs):
        lines.append(styled(f"    … and {len(found.pairs) - len(pairs)} more"))
    return lines


def _columns(found: RowDiff) -> list[str]:
    """Return the columns that differ somewhere and those that identify rows; all, where they are few."""
    if len(found.columns) <= 6:
        return list(found.columns)
    wrong = {name for pair in found.pairs for name in pair.wrong}
    return [name for index, name in enumerate(found.columns) if index < 2 or name in wrong][:8]


def _cells(pair: RowPair, columns: Sequence[str]) -> list[tuple[str, str]]:
    return [
        (_cell(pair.expected, name), _cell(pair.actual, name))
        for name in columns
    ]  # fmt: skip


def _cell(row: Mapping[str, Any] | None, name: str) -> str:
    return "" if row is None or name not in row else format_value(row[name])


def _pair_lines(
    pair: RowPair, columns: Sequence[str], cells: Sequence[tuple[str, str]], widths: Sequence[int]
) -> list[Line]:
    lines: list[Line] = []
    marks: list[Piece] = []
    for index, sign in enumerate("-+"):
        row = pair.expected if index == 0 else pair.actual
        if row is None:
            continue
        base: Style = "green" if index == 0 else "red"
        pieces: list[Piece] = [Piece(f"  {sign} ", base)]
        for place, (name, both, width) in enumerate(zip(columns, cells, widths, strict=True)):
            strong: Style = "good" if index == 0 else "bad"
            pieces += [
                Piece("  " if place else ""),
                Piece(_cut(both[index], width), strong if name in pair.wrong else base),
            ]
        label = "expected" if index == 0 else "came"
        where = f", {pair.location.path}:{pair.location.line}" if index == 0 and pair.location else ""
        lines.append((*pieces, Piece(f"   {label}{where}", "dim")))
    if pair.wrong and pair.expected is not None and pair.actual is not None:
        for place, (name, width) in enumerate(zip(columns, widths, strict=True)):
            marks.append(Piece("  " if place else "    "))
            marks.append(Piece(("~" * width) if name in pair.wrong else " " * width, "cyan"))
        lines.append(tuple(marks))
    return lines + [_nested(pair, name) for name in pair.wrong if _long(pair, name)]


def _long(pair: RowPair, name: str) -> bool:
    """Tell whether what differs may be cut off in the table."""
    return any(len(_cell(row, name)) > _WIDEST for row in (pair.expected, pair.actual))


def _nested(pair: RowPair, name: str) -> Line:
    """Say where two long values differ."""
    paths = list(_paths((pair.expected or {}).get(name), (pair.actual or {}).get(name), name))
    told = "; ".join(
        f"{path}: expected {format_value(one)}, came {format_value(other)}" for path, one, other in paths[:3]
    )
    return styled(f"    {told}", "cyan")


def _paths(one: Any, other: Any, path: str) -> Iterable[tuple[str, Any, Any]]:
    match one, other:
        case (Mapping(), Mapping()):
            for name in one:
                yield from _paths(one[name], other.get(name), f"{path}.{name}")
        case (list(), list()) if len(one) == len(other):
            for index, (a, b) in enumerate(zip(one, other, strict=True)):
                yield from _paths(a, b, f"{path}[{index}]")
        case _:
            if not equal_values(one, other):
                yield path, one, other


def _cut(text: str, width: int) -> str:
    return f"{text[: width - 1]}…" if len(text) > width else f"{text:<{width}}"
