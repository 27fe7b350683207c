"""Reads the log of a server."""

from __future__ import annotations

import re

from millstream.local.server.folder import ServerFolder

_FRAME = re.compile(r"\s+(at |\.\.\.)")
_LINES = 8
_TAIL = 1 << 20


def last_lines(folder: ServerFolder) -> tuple[str, ...]:
    """Return the last error and the lines after it, or the last lines; without frames of stack traces."""
    lines = [line for line in map(str.rstrip, _tail(folder).splitlines()) if line and not _FRAME.match(line)]
    errors = [number for number, line in enumerate(lines) if " ERROR " in line or " FATAL " in line]
    start = errors[-1] if errors else max(0, len(lines) - _LINES)
    return tuple(lines[start : start + _LINES])


def log_contains(folder: ServerFolder, text: str) -> bool:
    return text in _tail(folder)


def address_in_use(folder: ServerFolder) -> bool:
    # In the words of Java, and of Vert.x.
    tail = _tail(folder)
    return "Address already in use" in tail or "seems to be in use by another process" in tail


def _tail(folder: ServerFolder) -> str:
    try:
        with folder.log.open("rb") as log:
            log.seek(max(0, folder.log.stat().st_size - _TAIL))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return ""
