"""Diagnostics: what is wrong, where, and what to do about it."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from millstream.core.text import FileText, Location

_MOST = 20
"""Names that a remedy lists in full."""
_FIRST = 10
Severity = Literal["error", "warning"]


class DiagnosticNote(Struct, frozen=True):
    """A second location that explains the first, such as the call of a macro."""

    message: str
    location: Location | None = None


class Diagnostic(Struct, frozen=True):
    """An error or warning: `code` is explained in `millstream.core.codes`, `help` is the remedy."""

    code: str
    message: str
    location: Location | None = None
    help: str = ""
    line: str = ""
    notes: tuple[DiagnosticNote, ...] = ()
    severity: Severity = "error"

    @property
    def order(self) -> tuple[str, int, int, str]:
        location = self.location or Location("", 0, 0)
        return location.path, location.line, location.column, self.code


class UnlocatedDiagnostic(Struct, frozen=True):
    """An error or warning whose location only the reader of its file knows."""

    code: str
    message: str
    help: str = ""

    def located_at(
        self,
        location: Location | None,
        line: str = "",
        notes: tuple[DiagnosticNote, ...] = (),
        severity: Severity = "error",
    ) -> Diagnostic:
        return Diagnostic(self.code, self.message, location, self.help, line, notes, severity)


class WrongOption(UnlocatedDiagnostic, frozen=True):
    """What is wrong with one of a mapping of options."""

    option: str = ""


class MillstreamError(Exception):
    """An error that a user can fix, as one or more diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(f"{d.code}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics


def os_reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@contextmanager
def reporting_os_errors(code: str, message: str, remedy: str) -> Iterator[None]:
    """Raise an error of the operating system as a diagnostic: the message, then the reason."""
    try:
        yield
    except OSError as error:
        raise MillstreamError(Diagnostic(code, f"{message}: {os_reason(error)}", None, remedy)) from None


def diagnostic_at(
    text: FileText,
    start: int,
    stop: int | None,
    code: str,
    message: str,
    remedy: str = "",
    *notes: DiagnosticNote,
) -> Diagnostic:
    """Return a diagnostic for `text[start:stop]`, with its line."""
    location = text.location(start, stop)
    return Diagnostic(code, message, location, remedy, text.line(location.line), notes)


def nearest_name(name: str, candidates: Iterable[str]) -> str | None:
    """Return the known name that `name` was most likely meant to be; None if none is similar."""
    return _nearest(name.lower(), tuple(candidates))


@lru_cache(maxsize=256)
def _nearest(name: str, candidates: tuple[str, ...]) -> str | None:
    """Remember the answers: a name that is missing is often used many times."""
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    matches = get_close_matches(name, by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str = "") -> str:
    """Return `did you mean 'x'?`, or what to do if no name is similar."""
    close = nearest_name(name, candidates)
    return f"did you mean '{close}'?{_look_alike(name, close)}" if close else otherwise


def listed_keys(names: Iterable[str]) -> str:
    """List options; of many, only the first ones, and where all are documented."""
    every = list(names)
    some = every if len(every) <= _MOST else every[:_FIRST]
    left = len(every) - len(some)
    return ", ".join(some) + (f", … ({left} more: see configuration.md in the docs)" if left else "")


def looks_like(name: str, candidates: Iterable[str]) -> str | None:
    """Return the known word that a name looks like; up to half of its letters may be of other scripts."""
    foreign = [letter for letter in name if not letter.isascii()]
    # A letter with an accent doesn't look like the one without.
    accented = any(unicodedata.decomposition(letter)[:1] not in {"", "<"} for letter in foreign)
    if not foreign or accented or 2 * len(foreign) > len(name):
        return None
    alike = re.compile(
        "".join(letter if letter.isascii() else "." for letter in re.escape(name)), re.IGNORECASE
    )
    return next((candidate for candidate in candidates if alike.fullmatch(candidate)), None)


def _look_alike(name: str, meant: str) -> str:
    """Return which character of a name only looks like the one that is meant."""
    if len(name) != len(meant) or name.isascii():
        return ""
    for written, expected in zip(name, meant, strict=True):
        if not written.isascii() and expected.isascii():
            called = unicodedata.name(written, "without a name").lower()
            return f" Its '{written}' is not the letter '{expected}' but U+{ord(written):04X}, {called}"
    return ""
