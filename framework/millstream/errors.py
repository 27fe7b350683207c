"""What is wrong, where, and what to do about it: every mistake of a user is a `Diagnostic`."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Literal

from msgspec import Struct

from millstream.text import Location, Text

Severity = Literal["error", "warning"]


class Note(Struct, frozen=True):
    """A second place that explains the first, such as the call of a macro."""

    message: str
    location: Location | None = None


class Diagnostic(Struct, frozen=True):
    """One mistake: `code` has a row in `codes.py`, `help` is the remedy in one sentence."""

    code: str
    message: str
    location: Location | None = None
    help: str = ""
    line: str = ""
    notes: tuple[Note, ...] = ()
    severity: Severity = "error"

    @property
    def order(self) -> tuple[str, int, int, str]:
        place = self.location
        return (place.path, place.line, place.column, self.code) if place else ("", 0, 0, self.code)


class MillstreamError(Exception):
    """Something that a user can mend, told as one or more diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(f"{d.code}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics


def at(
    text: Text, start: int, stop: int | None, code: str, message: str, remedy: str = "", *notes: Note
) -> Diagnostic:
    """Make a diagnostic of `text[start:stop]`, with the line that it stands on."""
    location = text.location(start, stop)
    return Diagnostic(code, message, location, remedy, text.line(location.line), notes)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` was most likely meant to be."""
    by_folded = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return `did you mean 'x'?`, or what to do when nothing is near."""
    close = nearest(name, known)
    return f"did you mean '{close}'?" if close else otherwise
