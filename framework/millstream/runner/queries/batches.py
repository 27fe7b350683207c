"""What Spark says of a micro-batch, as a value of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from pyspark.sql.streaming.listener import SourceProgress, StreamingQueryProgress

from millstream.runner.queries.counts import counts, observed
from millstream.runner.queries.reads import OLDEST
from millstream.runner.queries.results import Counts
from millstream.runner.queries.row_tests import Tested

Offsets = Mapping[int, int]
"""By partition: the record that is read next."""

TOPIC = re.compile(r"\[Subscribe\[(.+)\]\]$")
"""In what Spark's KafkaMicroBatchStream says of itself."""


class Batch(Struct, frozen=True):
    """A micro-batch of a query that ended well."""

    number: int
    rows: int
    seconds: float
    phases: dict[str, float] = {}
    """Seconds by what Spark calls the parts of a batch: `addBatch`, `queryPlanning`, `walCommit`…"""
    read: dict[str, dict[int, int]] = {}
    """By topic: how far it has been read."""
    behind: dict[str, int] = {}
    """By topic: records that were there and are not read yet."""
    watermark: str = ""
    late: int = 0
    """Rows that came after their window was closed."""
    state_rows: int = 0
    state_bytes: int = 0
    counts: Counts = Counts()
    latency: float | None = None
    """Seconds from when the oldest of its records came into Kafka to its end."""


def batch_of(progress: StreamingQueryProgress, tested: Tested) -> Batch:
    read: dict[str, dict[int, int]] = {}
    behind: dict[str, int] = {}
    for source in progress.sources:
        found = TOPIC.search(source.description)
        if found is not None:
            _note(found[1], source, read, behind)
    states = progress.stateOperators
    return Batch(
        number=progress.batchId,
        rows=progress.numInputRows,
        seconds=progress.batchDuration / 1000,
        phases={
            name: took / 1000 for name, took in progress.durationMs.items() if name != "triggerExecution"
        },
        read=read,
        behind=behind,
        watermark=progress.eventTime.get("watermark", ""),
        late=sum(each.numRowsDroppedByWatermark for each in states),
        state_rows=sum(each.numRowsTotal for each in states),
        state_bytes=sum(each.memoryUsedBytes for each in states),
        counts=counts(observed([progress]).values()) + tested.take(progress.batchId),
        latency=_latency(progress),
    )


def _latency(progress: StreamingQueryProgress) -> float | None:
    times = [
        row["micros"] / 1e6
        for name, row in progress.observedMetrics.items()
        if name.startswith(OLDEST) and row["micros"] is not None
    ]
    ended = datetime.fromisoformat(progress.timestamp.replace("Z", "+00:00")) + timedelta(
        milliseconds=progress.batchDuration
    )
    return max(0.0, ended.timestamp() - min(times)) if times else None


def _note(
    topic: str, source: SourceProgress, read: dict[str, dict[int, int]], behind: dict[str, int]
) -> None:
    """Note where a source is; a topic that a query reads twice is read as far as by the slower one."""
    ends = _offsets(source.endOffset, topic)
    latest = _offsets(source.latestOffset, topic) or ends
    known = read.get(topic, ends)
    read[topic] = {number: min(at, known.get(number, at)) for number, at in ends.items()}
    left = sum(max(0, end - ends.get(number, end)) for number, end in latest.items())
    behind[topic] = max(left, behind.get(topic, 0))


def _offsets(said: str | None, topic: str) -> dict[int, int]:
    # Of a batch that is run again, Spark says "None" for how far the topic goes.
    found = json.loads(said) if said and said.startswith("{") else {}
    own = found.get(topic, {})
    return {int(number): offset for number, offset in own.items()}


def has_read(batch: Batch, ends: Mapping[str, Offsets]) -> bool:
    """Tell whether a query has read what its topics held at a time."""
    return all(
        batch.read.get(topic, {}).get(number, 0) >= end
        for topic, numbers in ends.items()
        for number, end in numbers.items()
    )
