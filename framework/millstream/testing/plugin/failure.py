"""How pytest shows a failed test of a project."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from _pytest._code.code import TerminalRepr

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.testing.styled_text import Line, Style, plain_text, styled_diagnostic

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter

_MARKUP: dict[Style, dict[str, bool]] = {
    "": {},
    "bold": {"bold": True},
    "red": {"red": True},
    "green": {"green": True},
    "dim": {"light": True},
    "bad": {"red": True, "bold": True, "invert": True},
    "good": {"green": True, "bold": True, "invert": True},
    "cyan": {"cyan": True},
}


class TestFailedError(Exception):
    """A failed test, with its diagnostics and the rows that differ."""

    __test__ = False  # pytest must not collect it

    def __init__(self, diagnostics: Iterable[Diagnostic], lines: Iterable[Line]) -> None:
        self.diagnostics = tuple(diagnostics)
        self.lines = tuple(lines)
        super().__init__(
            "; ".join(f"{diagnostic.code}: {diagnostic.message}" for diagnostic in self.diagnostics)
        )


class FailureReport(TerminalRepr):
    """Diagnostics and rows, in color on a terminal."""

    def __init__(self, diagnostics: Iterable[Diagnostic], rows: Iterable[Line]) -> None:
        self.diagnostics = tuple(diagnostics)
        self.rows = tuple(rows)
        self.lines = (
            *(line for diagnostic in self.diagnostics for line in styled_diagnostic(diagnostic)),
            *self.rows,
        )

    def __str__(self) -> str:
        return plain_text(self.lines)

    def toterminal(self, tw: TerminalWriter) -> None:
        for line in self.lines:
            for piece in line:
                tw.write(piece.text, **_MARKUP[piece.style])
            tw.line()


def failure_report(error: BaseException) -> FailureReport | None:
    """Return the report of a failed or invalid test; None for an internal error."""
    match error:
        case TestFailedError(diagnostics=diagnostics, lines=rows):
            return FailureReport(diagnostics, rows)
        case MillstreamError(diagnostics=diagnostics):
            return FailureReport(diagnostics, ())
        case _:
            return None
