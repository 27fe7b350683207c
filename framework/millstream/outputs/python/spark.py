"""Hands the rows of a batch to a function of the project, and again if it fails."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.user_code import describe_failure
from millstream.outputs.python.batch import Batch
from millstream.outputs.writing import WriterBatch, write_nothing

_FIRST, _LONGEST = 1.0, 60.0
"""Seconds until a failed call is repeated: at first, and at most."""
_REMEDY = (
    "fix the function, or what it writes to: the next start hands the batch over again; "
    "to go on without its rows, set on_failure='dead_letter'"
)


def write(rows: DataFrame, options: Mapping[str, Any], batch: WriterBatch) -> str | None:
    """Hand rows over; return why they were not written, if they are to become dead letters."""
    if batch.environment and options["environments"] == "skip":
        write_nothing(rows)
        return None
    table = rows.toArrow()
    reason = _handed_over(table, options, batch) if table.num_rows else None
    if reason is not None and options["on_failure"] == "stop":
        raise MillstreamError(Diagnostic("MS861", f"{batch.model}: {reason}", None, _REMEDY))
    return reason


def _handed_over(table: Any, options: Mapping[str, Any], batch: WriterBatch) -> str | None:
    """Call the function until it returns; return why it did not."""
    name, reason = options["write"], None
    for attempt in range(options["retries"] + 1):
        if attempt:
            time.sleep(min(_FIRST * 2 ** (attempt - 1), _LONGEST))
        is_repeated = batch.is_repeated or attempt > 0
        try:
            batch.function(name)(table, Batch(batch.id, is_repeated, batch.model, batch.environment))
        except Exception as error:  # noqa: BLE001 -- whatever the function raises, or its file
            reason = describe_failure(name, error)
        else:
            return None
    return reason
