"""Lines of styled pieces, which become colored or plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from millstream.errors import Diagnostic

Style = Literal["", "bold", "red", "green", "dim", "bad", "good", "cyan"]


class Piece(NamedTuple):
    text: str
    style: Style = ""


Line = tuple[Piece, ...]


def styled(text: str, style: Style = "") -> Line:
    return (Piece(text, style),)


def plain_text(lines: Iterable[Line]) -> str:
    return "\n".join("".join(piece.text for piece in each).rstrip() for each in lines)


def diagnostic_lines(found: Diagnostic) -> list[Line]:
    """Return a diagnostic as the commands show it: location, line, caret, remedy."""
    color: Style = "red" if found.severity == "error" else "cyan"
    lines: list[Line] = [
        (Piece(f"{found.severity}[{found.code}]", color), Piece(f": {_safe(found.message)}", "bold"))
    ]
    location = found.location
    margin = " " * len(str(location.line)) if location else " "
    if location:
        lines.append(styled(f"{margin}--> {location}", "dim"))
    if location and found.line:
        before = " " * (location.column - 1)
        caret = "^" * max(1, min(location.end, len(found.line) + 1) - location.column)
        lines.append((Piece(f"{location.line} | ", "dim"), Piece(_safe(found.line))))
        lines.append((Piece(f"{margin} | {before}", "dim"), Piece(caret, color)))
    for note in found.notes:
        suffix = f": {note.location}" if note.location else ""
        lines.append(styled(f"{margin} = note: {_safe(note.message)}{suffix}"))
    if found.help:
        lines.append(styled(f"{margin} = help: {_safe(found.help)}"))
    return lines


def _safe(text: str) -> str:
    """Return a text whose control characters can't move a terminal's cursor."""
    return "".join(c if c.isprintable() else chr(0x2400 + ord(c)) if ord(c) < 32 else "?" for c in text)
