"""What the broker's log says of its end."""

from __future__ import annotations

import re

from millstream.broker.place import BrokerFolder

_FRAME = re.compile(r"\s+(at |\.\.\.)")
_LINES = 8
_TAIL = 1 << 20


def last_lines(place: BrokerFolder) -> tuple[str, ...]:
    """Return the last error and what follows it, else the last lines; without the frames of stack traces."""
    lines = [line for line in map(str.rstrip, _tail(place).splitlines()) if line and not _FRAME.match(line)]
    errors = [number for number, line in enumerate(lines) if " ERROR " in line or " FATAL " in line]
    start = errors[-1] if errors else max(0, len(lines) - _LINES)
    return tuple(lines[start : start + _LINES])


def has_started(place: BrokerFolder) -> bool:
    return "Kafka Server started" in _tail(place)


def address_in_use(place: BrokerFolder) -> bool:
    return "Address already in use" in _tail(place)


def _tail(place: BrokerFolder) -> str:
    try:
        with place.log.open("rb") as log:
            log.seek(max(0, place.log.stat().st_size - _TAIL))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return ""
