"""Formats rows that differ as a table: `-` is expected, `+` is actual, `~` marks the difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millstream.core.bipartite_matching import largest_matching
from millstream.testing.styled_text import Line, Style, StyledPiece, styled_line
from millstream.testing.units.row_diff import RowDiff, RowPair, equal_values
from millstream.testing.value_text import format_value

_WIDEST = 44
_ROWS = 20
_COMPARED = 100
"""Elements of lists that are looked for in any order."""
_NO_ORDER = "collect_set and collect_list keep none: use array_sort"


def diff_lines(diff: RowDiff) -> list[Line]:
    pairs = diff.pairs[:_ROWS]
    columns = _columns(diff)
    cells = [[(_cell(pair.expected, name), _cell(pair.actual, name)) for name in columns] for pair in pairs]
    widths = [
        min(_WIDEST, max(len(name), *(len(text) for row in cells for text in row[i])))
        for i, name in enumerate(columns)
    ]
    header = "  ".join(_cut(name, width) for name, width in zip(columns, widths, strict=True))
    lines = [styled_line(f"    {header}", "bold")]
    for pair, row in zip(pairs, cells, strict=True):
        lines += _pair_lines(pair, columns, row, widths)
    if len(diff.pairs) > len(pairs):
        lines.append(styled_line(f"    … and {len(diff.pairs) - len(pairs)} more"))
    reordered = dict.fromkeys(name for pair in pairs for name in pair.wrong if _reordered(pair, name))
    return lines + [
        styled_line(f"    only the order of {name} differs; {_NO_ORDER}", "cyan") for name in reordered
    ]


def _columns(diff: RowDiff) -> list[str]:
    """Return all columns if there are few; otherwise the first two and those that differ."""
    if len(diff.columns) <= 6:
        return list(diff.columns)
    wrong = {name for pair in diff.pairs for name in pair.wrong}
    return [name for index, name in enumerate(diff.columns) if index < 2 or name in wrong][:8]


def _cell(row: Mapping[str, Any] | None, name: str) -> str:
    return "" if row is None or name not in row else format_value(row[name])


def _pair_lines(
    pair: RowPair, columns: Sequence[str], cells: Sequence[tuple[str, str]], widths: Sequence[int]
) -> list[Line]:
    lines: list[Line] = []
    marks: list[StyledPiece] = []
    for index, sign in enumerate("-+"):
        row = pair.expected if index == 0 else pair.actual
        if row is None:
            continue
        base: Style = "green" if index == 0 else "red"
        pieces: list[StyledPiece] = [StyledPiece(f"  {sign} ", base)]
        for position, (name, both, width) in enumerate(zip(columns, cells, widths, strict=True)):
            strong: Style = "good" if index == 0 else "bad"
            pieces += [
                StyledPiece("  " if position else ""),
                StyledPiece(_cut(both[index], width), strong if name in pair.wrong else base),
            ]
        label = "expected" if index == 0 else "actual"
        location = f", {pair.location.path}:{pair.location.line}" if index == 0 and pair.location else ""
        lines.append((*pieces, StyledPiece(f"   {label}{location}", "dim")))
    if pair.wrong and pair.expected is not None and pair.actual is not None:
        for position, (name, width) in enumerate(zip(columns, widths, strict=True)):
            marks.append(StyledPiece("  " if position else "    "))
            marks.append(StyledPiece(("~" * width) if name in pair.wrong else " " * width, "cyan"))
        lines.append(tuple(marks))
    return lines + [_nested(pair, name) for name in pair.wrong if _long(pair, name)]


def _reordered(pair: RowPair, name: str) -> bool:
    """Tell whether two lists have the same elements."""
    one, other = (pair.expected or {}).get(name), (pair.actual or {}).get(name)
    if not (isinstance(one, list) and isinstance(other, list) and len(one) == len(other) <= _COMPARED):
        return False
    fits = [[i for i, value in enumerate(other) if equal_values(expected, value)] for expected in one]
    return len(largest_matching(fits)) == len(one)


def _long(pair: RowPair, name: str) -> bool:
    """Tell whether a value is cut off in the table."""
    return any(len(_cell(row, name)) > _WIDEST for row in (pair.expected, pair.actual))


def _nested(pair: RowPair, name: str) -> Line:
    """Return a line that says where two long values differ."""
    paths = list(_paths((pair.expected or {}).get(name), (pair.actual or {}).get(name), name))
    text = "; ".join(
        f"{path}: expected {format_value(one)}, got {format_value(other)}" for path, one, other in paths[:3]
    )
    return styled_line(f"    {text}", "cyan")


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
