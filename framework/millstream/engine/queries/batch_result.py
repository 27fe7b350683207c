"""A completed micro-batch."""

from __future__ import annotations

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.engine.queries.query_results import RecordCounts
from millstream.results.run_results import RecordOutcomes, TableChanges
from millstream.results.state_sizes import OperatorState
from millstream.sources.positions import Position


class BatchResult(Struct, frozen=True):
    number: int
    rows: int
    seconds: float
    phases: dict[str, float] = {}
    """Seconds by Spark's name of each phase: `addBatch`, `queryPlanning`, `walCommit`…"""
    read: dict[str, Position] = {}
    """Up to where each topic has been read."""
    records: dict[str, int] = {}
    """How many records of each topic it has read, or of several that are read as one (`TopicRead.stream`)."""
    behind: dict[str, int] = {}
    """The number of available records of each topic that are not read yet."""
    watermark: str = ""
    late: int = 0
    """Rows that stateful operators dropped because they were older than the watermark."""
    state_rows: int = 0
    state_bytes: int = 0
    operators: tuple[OperatorState, ...] = ()
    counts: RecordCounts = RecordCounts()
    metrics: dict[str, dict[str, list[float]]] = {}
    """What the rows of the batch add to metrics; see `counts.Metrics`."""
    logs: dict[NodeId, tuple[int, list[str]]] = {}
    """The logged rows; see `counts.Logs`."""
    changes: dict[str, TableChanges] = {}
    """What tables over tables did, by model."""
    ages: tuple[int, ...] = ()
    """How many records were how old when it began: two steps for each power of two of milliseconds."""
    reasons: dict[str, int] = {}
    """Dead letters by their reasons, without numbers and quoted texts."""
    latency: float | None = None
    """Seconds from the arrival of its oldest record in Kafka to the end of the batch."""

    fates: dict[str, RecordOutcomes] = {}
    """What became of its records, by model, where they can be counted one by one."""

    @property
    def model_rows(self) -> dict[str, int]:
        """How many rows it has for each model, by name."""
        return {id_.name: rows for id_, rows in self.counts.rows.items()}
