"""Says what became of the records that a model read: written, filtered, skipped, dead letters or failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.physical.values import DeadLetters, Query, SinkOutput, TableOutput, Target, ViewOutput
from millstream.results import Fates
from millstream.runner.queries.batch import Batch
from millstream.runner.queries.results import Counts, StateRows, of_model, rows_of_states


def counts_of(counts: Counts, query: Query, target: SinkOutput | TableOutput | ViewOutput) -> Counts:
    """Return what a query counts for a model: its own, and those of its sources."""
    tests, drops_by = ((), {}) if isinstance(target, ViewOutput) else (target.tests, target.drops_by)
    return counts.of({target.model, *(each.relation for each in query.sources), *tests}, drops_by)


def rows_of_table(target: TableOutput, query: Query, counts: Counts) -> int | None:
    """Return the rows for a table; None if its query stores its rows in another way than it gives them."""
    if target.tests or len(query.outputs) > 1 or query.maintaining is not None:
        return None
    return counts.rows.get(target.model)


def fates_of(
    target: Target,
    read: Mapping[str, int],
    written: int | None,
    own: Counts,
    duplicates: Iterable[StateRows] = (),
    late: Iterable[StateRows] = (),
    *,
    unfinished: Mapping[str, int] = {},
) -> Fates | None:
    """Return the fates of the records that a model read, by source, besides those of an unfinished batch.

    None if one of its rows comes from many records, or many come from one, or if not all is counted.
    """
    if not isinstance(target, SinkOutput | TableOutput) or target.counted not in read or written is None:
        return None
    states = tuple(each for each in (*duplicates, *late) if target.model in each.models)
    if not all(each.operator for each in states):
        return None  # rows of which state these are is unknown
    skipped, dead_letters = (
        sum(found.get(id_, 0) for id_ in (target.counted, target.model))
        for found in (own.skipped, own.dead_letters)
    )
    dropped, too_late = of_model(target.model, duplicates), of_model(target.model, late)
    begun = unfinished.get(target.counted, 0)
    total = read[target.counted] + begun
    rest = total - written - skipped - dead_letters - dropped - too_late
    # Which records of an unfinished batch filters would have left out is not known.
    failed = min(begun, rest)
    return Fates(total, written, rest - failed, skipped, dead_letters, failed, dropped, too_late)


def fates_of_batch(query: Query, batch: Batch) -> dict[str, Fates]:
    """Return the fates of the records of a completed batch, by model."""
    read = {each.relation: batch.records.get(each.topic, 0) for each in query.sources if each.topic}
    duplicates = rows_of_states(query, [each.duplicates for each in batch.operators])
    late = rows_of_states(query, [each.late for each in batch.operators])
    found = {}
    for target in query.outputs:
        if isinstance(target, DeadLetters):
            continue
        own = counts_of(batch.counts, query, target)
        written = (
            rows_of_table(target, query, batch.counts)
            if isinstance(target, TableOutput)
            else batch.counts.rows.get(target.model)
        )
        if (each := fates_of(target, read, written, own, duplicates, late)) is not None:
            found[target.model.partition(".")[2]] = each
    return found
