"""Lines of styled pieces, which become colored or plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from millstream.core.diagnostic_text import DiagnosticPart, diagnostic_lines
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


_STYLES: dict[DiagnosticPart, Style] = {
    "severity": "red",
    "message": "bold",
    "gutter": "dim",
    "caret": "red",
    "note": "bold",
    "help": "green",
    "text": "",
}


def styled_diagnostic(diagnostic: Diagnostic) -> list[Line]:
    """Return a diagnostic as the commands show it."""
    styles = _STYLES if diagnostic.severity == "error" else {**_STYLES, "severity": "cyan", "caret": "cyan"}
    return [
        tuple(StyledPiece(text, styles[part]) for text, part in line) for line in diagnostic_lines(diagnostic)
    ]
