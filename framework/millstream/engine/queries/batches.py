"""Converts Spark's progress of a micro-batch to a value."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta

from pyspark.sql.streaming.listener import SourceProgress, StateOperatorProgress, StreamingQueryProgress

from millstream.engine.queries.batch import Batch
from millstream.engine.queries.counts import counts, logs_of, metrics_of, observed, reasons
from millstream.engine.queries.reads import OLDEST
from millstream.engine.queries.row_tests import CountsByBatch
from millstream.results.state_stats import OperatorState

TOPIC = re.compile(r"\[Subscribe\[(.+)\]\]$")
"""The topic in the description of Spark's KafkaMicroBatchStream."""


def batch_of(progress: StreamingQueryProgress, counted: CountsByBatch) -> Batch:
    read: dict[str, dict[int, int]] = {}
    behind: dict[str, int] = {}
    for source in progress.sources:
        match = TOPIC.search(source.description)
        if match is not None:
            _add_offsets(match[1], source, read, behind)
    states = progress.stateOperators
    batch_counts = counted.take(progress.batchId)
    rows = [row.asDict() for row in progress.observedMetrics.values()]
    return Batch(
        number=progress.batchId,
        rows=progress.numInputRows,
        seconds=progress.batchDuration / 1000,
        phases={
            name: took / 1000 for name, took in progress.durationMs.items() if name != "triggerExecution"
        },
        read=read,
        records=records_of_topics(progress),
        behind=behind,
        watermark=progress.eventTime.get("watermark", ""),
        late=sum(state.numRowsDroppedByWatermark for state in states),
        state_rows=sum(state.numRowsTotal for state in states),
        state_bytes=sum(state.memoryUsedBytes for state in states),
        operators=tuple(map(state_of, states)),
        counts=counts(observed([progress]).values()) + batch_counts.counts,
        metrics=metrics_of(rows) | batch_counts.metrics,
        logs=logs_of(rows) | batch_counts.logs,
        changes=batch_counts.changes,
        ages=_ages(progress),
        reasons=reasons(rows) | batch_counts.reasons,
        latency=_latency(progress),
    )


def records_of_topics(progress: StreamingQueryProgress) -> dict[str, int]:
    """Return how many records of each topic a batch has read."""
    records: dict[str, int] = {}
    for source in progress.sources:
        if named := TOPIC.search(source.description):
            # If a query reads a topic several times, Spark lists each read.
            records[named[1]] = max(records.get(named[1], 0), source.numInputRows)
    return records


def state_of(state: StateOperatorProgress) -> OperatorState:
    return OperatorState(
        name=state.operatorName,
        rows=state.numRowsTotal,
        bytes=state.memoryUsedBytes,
        late=state.numRowsDroppedByWatermark,
        expired=state.numRowsRemoved,
        figures=dict(state.customMetrics),
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


def _ages(progress: StreamingQueryProgress) -> tuple[int, ...]:
    observed = (row.asDict() for name, row in progress.observedMetrics.items() if name.startswith(OLDEST))
    histograms = [row["ages"] for row in observed if row.get("ages")]
    return tuple(map(sum, zip(*histograms, strict=True)))


def _add_offsets(
    topic: str, source: SourceProgress, read: dict[str, dict[int, int]], behind: dict[str, int]
) -> None:
    """Add a source's offsets; if a query reads a topic twice, the slower read counts."""
    ends = _offsets(source.endOffset, topic)
    latest = _offsets(source.latestOffset, topic) or ends
    other_offsets = read.get(topic, ends)
    read[topic] = {number: min(offset, other_offsets.get(number, offset)) for number, offset in ends.items()}
    left = sum(max(0, end - ends.get(number, end)) for number, end in latest.items())
    behind[topic] = max(left, behind.get(topic, 0))


def _offsets(text: str | None, topic: str) -> dict[int, int]:
    # For a repeated batch, Spark reports "None" as the topic's end.
    topics = json.loads(text) if text and text.startswith("{") else {}
    offsets = topics.get(topic, {})
    return {int(number): offset for number, offset in offsets.items()}
