"""Lines of styled pieces, which become colored or plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from millstream.core.errors import Diagnostic

Style = Literal["", "bold", "red", "green", "dim", "bad", "good", "cyan"]


class Piece(NamedTuple):
    text: str
    style: Style = ""


Line = tuple[Piece, ...]


def styled(text: str, style: Style = "") -> Line:
    return (Piece(text, style),)


def plain_text(lines: Iterable[Line]) -> str:
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def diagnostic_lines(diagnostic: Diagnostic) -> list[Line]:
    """Return a diagnostic as the commands show it: location, line, caret, remedy."""
    color: Style = "red" if diagnostic.severity == "error" else "cyan"
    lines: list[Line] = [
        (
            Piece(f"{diagnostic.severity}[{diagnostic.code}]", color),
            Piece(f": {_safe(diagnostic.message)}", "bold"),
        )
    ]
    location = diagnostic.location
    margin = " " * len(str(location.line)) if location else " "
    if location:
        lines.append(styled(f"{margin}--> {location}", "dim"))
    if location and diagnostic.line:
        before = " " * (location.column - 1)
        caret = "^" * max(1, min(location.end, len(diagnostic.line) + 1) - location.column)
        lines.append((Piece(f"{location.line} | ", "dim"), Piece(_safe(diagnostic.line))))
        lines.append((Piece(f"{margin} | {before}", "dim"), Piece(caret, color)))
    for note in diagnostic.notes:
        suffix = f": {note.location}" if note.location else ""
        lines.append(styled(f"{margin} = note: {_safe(note.message)}{suffix}"))
    if diagnostic.help:
        lines.append(styled(f"{margin} = help: {_safe(diagnostic.help)}"))
    return lines


def _safe(text: str) -> str:
    """Return a text whose control characters can't move a terminal's cursor."""
    return "".join(c if c.isprintable() else chr(0x2400 + ord(c)) if ord(c) < 32 else "?" for c in text)
