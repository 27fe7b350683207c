"""Diagnostics by file, as `millstream compile` reports them."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.core.errors import Diagnostic
from millstream.editor.project import location_of


def by_path(diagnostics: Iterable[Diagnostic]) -> dict[str, list[Diagnostic]]:
    """Return diagnostics by the file that shows them."""
    grouped: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        grouped.setdefault(location_of(diagnostic).path, []).append(diagnostic)
    return grouped


def message_of(diagnostic: Diagnostic) -> str:
    """Return a diagnostic's message with its remedy."""
    return f"{diagnostic.message}\nhelp: {diagnostic.help}" if diagnostic.help else diagnostic.message
