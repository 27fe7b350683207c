"""Says what became of the records that a model read: written, filtered, skipped, dead letters or failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.core.node_id import NodeId
from millstream.engine.queries.batch_result import BatchResult
from millstream.engine.queries.query_results import RecordCounts, StateRows, of_model, rows_of_states
from millstream.queries.values import ModelOutput, Query
from millstream.results.run_results import RecordOutcomes


def counts_of(counts: RecordCounts, query: Query, target: ModelOutput) -> RecordCounts:
    """Return what a query counts for a model: its own, and those of its sources."""
    ids = {target.model, *(source.relation for source in query.sources), *target.tests}
    return counts.of(ids, target.drops_by)


def rows_of_table(target: ModelOutput, query: Query, counts: RecordCounts) -> int | None:
    """Return the rows for a table; None if its query stores its rows in another way than it gives them."""
    if target.tests or len(query.outputs) > 1 or query.maintaining is not None:
        return None
    return counts.rows.get(target.model)


def fates_of(
    target: ModelOutput,
    read: Mapping[NodeId, int],
    written: int | None,
    counts: RecordCounts,
    duplicates: Iterable[StateRows] = (),
    late: Iterable[StateRows] = (),
    *,
    unfinished: Mapping[NodeId, int] = {},
) -> RecordOutcomes | None:
    """Return the fates of the records that a model read, by source, besides those of an unfinished batch.

    None if one of its rows comes from many records, or many come from one, or if not all is counted.
    """
    if target.counted not in read or written is None:
        return None
    states = tuple(state for state in (*duplicates, *late) if target.model in state.models)
    if not all(state.operator for state in states):
        return None  # rows of which state these are is unknown
    skipped, dead_letters = (
        sum(numbers.get(id_, 0) for id_ in (target.counted, target.model))
        for numbers in (counts.skipped, counts.dead_letters)
    )
    dropped, too_late = of_model(target.model, duplicates), of_model(target.model, late)
    begun = unfinished.get(target.counted, 0)
    total = read[target.counted] + begun
    rest = total - written - skipped - dead_letters - dropped - too_late
    # Which records of an unfinished batch filters would have left out is not known.
    failed = min(begun, rest)
    return RecordOutcomes(total, written, rest - failed, skipped, dead_letters, failed, dropped, too_late)


def fates_of_batch(query: Query, batch: BatchResult) -> dict[str, RecordOutcomes]:
    """Return the fates of the records of a completed batch, by model."""
    read = {read.relation: batch.records.get(read.stream, 0) for read in query.topic_reads}
    duplicates = rows_of_states(query, [operator.duplicates for operator in batch.operators])
    late = rows_of_states(query, [operator.late for operator in batch.operators])
    fates = {}
    for target in query.model_outputs:
        counts = counts_of(batch.counts, query, target)
        written = (
            rows_of_table(target, query, batch.counts)
            if target.written_as in {"row", "batch"}
            else batch.counts.rows.get(target.model)
        )
        if (model_fates := fates_of(target, read, written, counts, duplicates, late)) is not None:
            fates[target.model.name] = model_fates
    return fates
