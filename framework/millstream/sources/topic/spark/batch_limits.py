"""How many records of a topic a batch reads: `max_rows_per_trigger` and its siblings, as Spark's options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.plan.durations import duration_millis

_LARGEST = "maxOffsetsPerTrigger"
_WAITING = _SMALLEST, _PATIENCE = "minOffsetsPerTrigger", "maxTriggerDelay"
BATCH_LIMITS = (_LARGEST, *_WAITING)


def batch_limits(options: Mapping[str, Any]) -> dict[str, str]:
    """Return Spark's options for the number of a topic's records in a batch."""
    limits = {_LARGEST: options.get("max_rows_per_trigger"), _SMALLEST: options.get("min_rows_per_trigger")}
    if delay := options.get("max_trigger_delay"):
        limits[_PATIENCE] = f"{duration_millis(delay)}ms"
    return {name: str(value) for name, value in limits.items() if value is not None}


def largest_batch(options: Mapping[str, str]) -> int | None:
    """Return how many records a batch reads at most, by Spark's options of a topic."""
    return int(options[_LARGEST]) if _LARGEST in options else None


def with_limit(records: int, options: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's options of a topic with a limit, unless theirs is lower."""
    return {**options, _LARGEST: str(min(records, largest_batch(options) or records))}


def limits_without_effect(trigger: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options of `batch_limits` that don't apply to a trigger.

    With `availableNow`, a minimum size would leave the last records unread; real-time mode has no batches.
    """
    if "processingTime" in trigger:
        return ()
    return _WAITING if "availableNow" in trigger else BATCH_LIMITS
