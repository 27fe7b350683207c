"""Converts Spark's progress of a micro-batch to a value."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta

from pyspark.sql.streaming.listener import SourceProgress, StateOperatorProgress, StreamingQueryProgress

from millstream.engine.queries.batch_result import BatchResult
from millstream.engine.queries.counts import count_reasons, logs_of, metrics_of, observe_counts, sum_counts
from millstream.engine.queries.row_tests import CountsByBatch
from millstream.results.state_sizes import OperatorState
from millstream.sources.topic.positions import TopicPosition, from_stored
from millstream.sources.topic.spark import OLDEST

TOPIC = re.compile(r"\[Subscribe\[(.+)\]\]$")
"""The topics in the description of Spark's KafkaMicroBatchStream, as in `TopicRead.stream`."""

_HISTORY = re.compile(r"^History\[(.+)\]$")
"""The topic in the description of Millstream's source of a history (FirstRows)."""


def batch_of(progress: StreamingQueryProgress, counted: CountsByBatch) -> BatchResult:
    read: dict[str, TopicPosition] = {}
    behind: dict[str, int] = {}
    for source in progress.sources:
        match = TOPIC.search(source.description)
        if match is not None:
            for topic in match[1].split(", "):
                _add_position(topic, source, read, behind)
    states = progress.stateOperators
    batch_counts = counted.take(progress.batchId)
    rows = [row.asDict() for row in progress.observedMetrics.values()]
    return BatchResult(
        number=progress.batchId,
        rows=progress.numInputRows,
        seconds=progress.batchDuration / 1000,
        phases={
            name: took / 1000 for name, took in progress.durationMs.items() if name != "triggerExecution"
        },
        read={**read},
        records=records_of_topics(progress),
        behind=behind,
        watermark=progress.eventTime.get("watermark", ""),
        # Spark's figure, also for Millstream's own processors.
        late=sum(state.numRowsDroppedByWatermark for state in states),
        state_rows=sum(state.numRowsTotal for state in states),
        state_bytes=sum(state.memoryUsedBytes for state in states),
        operators=tuple(map(state_of, states)),
        counts=sum_counts(observe_counts([progress]).values()) + batch_counts.counts,
        metrics=metrics_of(rows) | batch_counts.metrics,
        logs=logs_of(rows) | batch_counts.logs,
        changes=batch_counts.changes,
        ages=_ages(progress),
        reasons=count_reasons(rows) | batch_counts.reasons,
        latency=_latency(progress),
    )


def records_of_topics(progress: StreamingQueryProgress) -> dict[str, int]:
    """Return how many records a batch has read of each topic, or of topics that are read together."""
    records: dict[str, int] = {}
    for source in progress.sources:
        if named := TOPIC.search(source.description) or _HISTORY.search(source.description):
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


def _add_position(
    topic: str, source: SourceProgress, read: dict[str, TopicPosition], behind: dict[str, int]
) -> None:
    """Add how far a source is read; if a query reads a topic twice, the slower read counts."""
    end = _position(source.endOffset, topic)
    newest = _position(source.latestOffset, topic)
    read[topic] = end.earlier(read[topic]) if topic in read else end
    behind[topic] = max(end.behind(newest), behind.get(topic, 0))


def _position(text: str | None, topic: str) -> TopicPosition:
    # For a repeated batch, Spark reports "None" as the topic's end.
    topics = json.loads(text) if text and text.startswith("{") else {}
    return from_stored(topics.get(topic, {}))
