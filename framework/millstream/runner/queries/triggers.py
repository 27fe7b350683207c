"""When a query that runs on looks for new records."""

from __future__ import annotations

from msgspec import Struct

DEFAULT = "1 second"
"""Where a target names no trigger."""


class Every(Struct, frozen=True):
    """A micro-batch as often as this, or as soon as the one before has ended."""

    duration: str

    @property
    def options(self) -> dict[str, str]:
        return {"processingTime": self.duration}


class Passes(Struct, frozen=True):
    """All that is there, in as many batches as it takes; then the same again."""

    @property
    def options(self) -> dict[str, bool]:
        return {"availableNow": True}


class RealTime(Struct, frozen=True):
    """Rows flow through tasks that run all the time; other queries get the default."""


Trigger = Every | Passes | RealTime


def trigger_of(said: str | None) -> Trigger:
    match said:
        case None:
            return Every(DEFAULT)
        case "realtime":
            return RealTime()
        case "available_now":
            return Passes()
        case _:
            return Every(said)
