"""Lines of styled pieces, which become colored or plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from millstream.core.errors import Diagnostic

Style = Literal["", "bold", "red", "green", "dim", "bad", "good", "cyan"]


class StyledPiece(NamedTuple):
    text: str
    style: Style = ""


Line = tuple[StyledPiece, ...]


def styled_line(text: str, style: Style = "") -> Line:
    return (StyledPiece(text, style),)


def plain_text(lines: Iterable[Line]) -> str:
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def diagnostic_lines(diagnostic: Diagnostic) -> list[Line]:
    """Return a diagnostic as the commands show it: location, line, caret, remedy."""
    color: Style = "red" if diagnostic.severity == "error" else "cyan"
    lines: list[Line] = [
        (
            StyledPiece(f"{diagnostic.severity}[{diagnostic.code}]", color),
            StyledPiece(f": {_safe(diagnostic.message)}", "bold"),
        )
    ]
    location = diagnostic.location
    margin = " " * len(str(location.line)) if location else " "
    if location:
        lines.append(styled_line(f"{margin}--> {location}", "dim"))
    if location and diagnostic.line:
        before = " " * (location.column - 1)
        caret = "^" * max(1, min(location.end, len(diagnostic.line) + 1) - location.column)
        lines.append((StyledPiece(f"{location.line} | ", "dim"), StyledPiece(_safe(diagnostic.line))))
        lines.append((StyledPiece(f"{margin} | {before}", "dim"), StyledPiece(caret, color)))
    for note in diagnostic.notes:
        suffix = f": {note.location}" if note.location else ""
        lines.append(styled_line(f"{margin} = note: {_safe(note.message)}{suffix}"))
    if diagnostic.help:
        lines.append(styled_line(f"{margin} = help: {_safe(diagnostic.help)}"))
    return lines


def _safe(text: str) -> str:
    """Return a text whose control characters can't move a terminal's cursor."""
    return "".join(c if c.isprintable() else chr(0x2400 + ord(c)) if ord(c) < 32 else "?" for c in text)
