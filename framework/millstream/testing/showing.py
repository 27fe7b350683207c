"""What a failed test has to tell, as lines of styled pieces: a terminal colours them, a file has the text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from millstream.errors import Diagnostic
from millstream.testing.comparing import Difference, Pair

Style = Literal["", "bold", "red", "green", "dim", "bad", "good", "cyan"]
_WIDEST = 44
_ROWS = 20


class Piece(NamedTuple):
    text: str
    style: Style = ""


Line = tuple[Piece, ...]


def line(text: str, style: Style = "") -> Line:
    return (Piece(text, style),)


def plain(lines: Iterable[Line]) -> str:
    return "\n".join("".join(piece.text for piece in each).rstrip() for each in lines)


def difference(found: Difference) -> list[Line]:
    """Return a table of the rows that differ: `-` was expected, `+` came, `~` marks what differs."""
    pairs = found.pairs[:_ROWS]
    columns = _columns(found)
    cells = [_cells(pair, columns) for pair in pairs]
    widths = [
        min(_WIDEST, max(len(name), *(len(text) for row in cells for text in row[i])))
        for i, name in enumerate(columns)
    ]
    header = "  ".join(_cut(name, width) for name, width in zip(columns, widths, strict=True))
    lines = [line(f"    {header}", "bold")]
    for pair, row in zip(pairs, cells, strict=True):
        lines += _shown(pair, columns, row, widths)
    if len(found.pairs) > len(pairs):
        lines.append(line(f"    … and {len(found.pairs) - len(pairs)} more"))
    return lines


def _columns(found: Difference) -> list[str]:
    """Return the columns that differ somewhere and those that tell rows apart; all, where they are few."""
    if len(found.columns) <= 6:
        return list(found.columns)
    wrong = {name for pair in found.pairs for name in pair.wrong}
    return [name for index, name in enumerate(found.columns) if index < 2 or name in wrong][:8]


def _cells(pair: Pair, columns: Sequence[str]) -> list[tuple[str, str]]:
    return [
        (_cell(pair.expected, name), _cell(pair.actual, name))
        for name in columns
    ]  # fmt: skip


def _cell(row: Mapping[str, Any] | None, name: str) -> str:
    return "" if row is None or name not in row else shown(row[name])


def _shown(
    pair: Pair, columns: Sequence[str], cells: Sequence[tuple[str, str]], widths: Sequence[int]
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
        told = "expected" if index == 0 else "came"
        where = f", {pair.location.path}:{pair.location.line}" if index == 0 and pair.location else ""
        lines.append((*pieces, Piece(f"   {told}{where}", "dim")))
    if pair.wrong and pair.expected is not None and pair.actual is not None:
        for place, (name, width) in enumerate(zip(columns, widths, strict=True)):
            marks.append(Piece("  " if place else "    "))
            marks.append(Piece(("~" * width) if name in pair.wrong else " " * width, "cyan"))
        lines.append(tuple(marks))
    return lines + [_nested(pair, name) for name in pair.wrong if _long(pair, name)]


def _long(pair: Pair, name: str) -> bool:
    """Tell whether what differs may be cut off in the table."""
    return any(len(_cell(row, name)) > _WIDEST for row in (pair.expected, pair.actual))


def _nested(pair: Pair, name: str) -> Line:
    """Say where two long values differ."""
    paths = list(_paths((pair.expected or {}).get(name), (pair.actual or {}).get(name), name))
    told = "; ".join(f"{path}: expected {shown(one)}, came {shown(other)}" for path, one, other in paths[:3])
    return line(f"    {told}", "cyan")


def _paths(one: Any, other: Any, path: str) -> Iterable[tuple[str, Any, Any]]:
    from millstream.testing.comparing import equal

    match one, other:
        case (Mapping(), Mapping()):
            for name in one:
                yield from _paths(one[name], other.get(name), f"{path}.{name}")
        case (list(), list()) if len(one) == len(other):
            for index, (a, b) in enumerate(zip(one, other, strict=True)):
                yield from _paths(a, b, f"{path}[{index}]")
        case _:
            if not equal(one, other):
                yield path, one, other


def _cut(text: str, width: int) -> str:
    return f"{text[: width - 1]}…" if len(text) > width else f"{text:<{width}}"


def shown(value: Any) -> str:
    """Return a value as YAML would have it."""
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
            return "{" + ", ".join(f"{name}: {shown(each)}" for name, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(shown, value)) + "]"
        case str():
            return _text(value)
        case _:
            return str(value)


def _text(value: str) -> str:
    """Return a text on one line; what could move the cursor is escaped."""
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)
    return f'"{escaped}"' if not escaped or escaped != escaped.strip() or _other(escaped) else escaped


def _other(text: str) -> bool:
    """Tell whether a text would be read as something else without quotes."""
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


def told(found: Diagnostic) -> list[Line]:
    """Return a diagnostic as the commands show it: place, line, caret, remedy."""
    color: Style = "red" if found.severity == "error" else "cyan"
    lines: list[Line] = [
        (Piece(f"{found.severity}[{found.code}]", color), Piece(f": {_safe(found.message)}", "bold"))
    ]
    place = found.location
    margin = " " * len(str(place.line)) if place else " "
    if place:
        lines.append(line(f"{margin}--> {place}", "dim"))
    if place and found.line:
        before = " " * (place.column - 1)
        caret = "^" * max(1, min(place.end, len(found.line) + 1) - place.column)
        lines.append((Piece(f"{place.line} | ", "dim"), Piece(_safe(found.line))))
        lines.append((Piece(f"{margin} | {before}", "dim"), Piece(caret, color)))
    for note in found.notes:
        where = f": {note.location}" if note.location else ""
        lines.append(line(f"{margin} = note: {_safe(note.message)}{where}"))
    if found.help:
        lines.append(line(f"{margin} = help: {_safe(found.help)}"))
    return lines


def _safe(text: str) -> str:
    """Return a text whose control characters can't move a terminal's cursor."""
    return "".join(c if c.isprintable() else chr(0x2400 + ord(c)) if ord(c) < 32 else "?" for c in text)
