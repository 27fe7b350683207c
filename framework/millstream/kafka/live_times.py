"""Live traffic: event time follows the clock, and goes on where the topic ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

from msgspec import Struct

from millstream.kafka.event_time import EventTime


class LiveTimes(Struct, frozen=True):
    time: EventTime | None
    begin: float
    """The time of the first record, in milliseconds."""
    speed: float = 1.0
    """Seconds of event time in a second."""
    sent: int = 0
    """Records that the topic has had before: as many rows are left out."""

    def rows(self, generated: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """Leave out the rows that the topic has had; if there are no more, begin again."""
        rows = islice(generated(), self.sent, None)
        first = list(islice(rows, 1))
        return chain(first, rows) if first else generated()

    def moving(self) -> Callable[[Any], Any]:
        """Return a function that gives values, in the order of the rows, the time at which it is called.

        A value that is older than one before it stays so much older than that one.
        """
        started: float | None = None
        newest = 0

        def moved(value: Any) -> Any:
            nonlocal started, newest
            event_time = self.time.of(value) if self.time else None
            if self.time is None or event_time is None:
                return value
            newest = max(newest, event_time)
            clock = time.monotonic() * 1000
            started = clock if started is None else started
            return self.time.moved(value, self.begin + (clock - started) * self.speed - (newest - event_time))

        return moved
