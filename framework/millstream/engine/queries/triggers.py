"""When a running query looks for new records."""

from __future__ import annotations

from msgspec import Struct

DEFAULT = "1 second"
"""The trigger of targets that configure none."""


class IntervalTrigger(Struct, frozen=True):
    """A micro-batch at this interval, or as soon as the previous one has ended."""

    duration: str

    @property
    def options(self) -> dict[str, str]:
        return {"processingTime": self.duration}


class RepeatedTrigger(Struct, frozen=True):
    """All available records, in as many batches as necessary; then the same again."""

    @property
    def options(self) -> dict[str, bool]:
        return {"availableNow": True}


class RealTime(Struct, frozen=True):
    """Rows flow through tasks that never end; queries that can't do that use the default."""


Trigger = IntervalTrigger | RepeatedTrigger | RealTime


def trigger_of(setting: str | None) -> Trigger:
    match setting:
        case None:
            return IntervalTrigger(DEFAULT)
        case "realtime":
            return RealTime()
        case "available_now":
            return RepeatedTrigger()
        case _:
            return IntervalTrigger(setting)
