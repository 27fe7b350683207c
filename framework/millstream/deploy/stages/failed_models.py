"""Leaves a model that fails on its own out of its query, so that the others continue.

The query's record stores the offsets from which the model misses records. At the next start, the model is
backfilled and joins its query again; if it fails again, it stays left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from msgspec.structs import replace

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints import files as checkpoints
from millstream.deploy.engine import Engine
from millstream.deploy.planning.records import QueryRecord
from millstream.engine.queries.failures import PASSING
from millstream.engine.queries.histories import HistoryReads
from millstream.engine.queries.start import try_out
from millstream.queries.topology import alone_of
from millstream.queries.values import Query
from millstream.sources.positions import Positions, stored


def isolate_failures(engine: Engine, query: Query) -> dict[NodeId, Diagnostic]:
    """Leave out the models that fail on the batch on which their query failed; return their errors.

    If the query failed before its first batch, the models are tried without records. The result is empty if
    the query has state, if it failed for another reason, such as a registry that does not answer, or if all
    models fail.
    """
    checkpoint, record = engine.checkpoint(query), engine.record(query)
    if record is None or query.signature.stateful or len(query.stored) < 2:
        return {}
    spark = checkpoint.spark(record)
    begun, done = checkpoints.last_begun(engine.files, spark), checkpoints.last_done(engine.files, spark)
    starts = {} if done is None else checkpoints.read_up_to(engine.files, spark, done, query.streams)
    ends = (
        starts
        if begun in {None, done}
        else checkpoints.read_up_to(engine.files, spark, begun or 0, query.streams)
    )
    if ends is None or starts is None:
        return {}
    failed = _failing(engine, query, record, starts, ends)
    if not failed or len(failed) == len(query.stored):
        return {}
    left_out = dict.fromkeys(failed, stored(starts)) | record.left_out
    outputs = {model: topic for model, topic in query.stored.items() if model not in failed}
    checkpoints.write_record(engine.files, checkpoint, replace(record, outputs=outputs, left_out=left_out))
    return failed


def leave_out(engine: Engine, query: Query, left_out: Collection[NodeId]) -> Query:
    """Return a query without some of its models; it still sends the dead letters of its source."""
    others = [model for model in query.stored if model not in left_out]
    if not left_out:
        return query
    job = engine.job
    return alone_of(job.topology, query.name, others, job.physical.lock, dead_letters=True)


def missing_from(record: QueryRecord | None, left_out: Iterable[NodeId]) -> dict[NodeId, dict[str, Any]]:
    """Return the stored positions from which models miss records; empty for models that never ran."""
    return {model: {} if record is None else record.left_out.get(model, {}) for model in left_out}


def _failing(
    engine: Engine, query: Query, record: QueryRecord, starts: Positions, ends: Positions
) -> dict[NodeId, Diagnostic]:
    ranges, histories = (
        engine.ranges(query, starts, ends, record.histories),
        HistoryReads(record.histories, unread=not starts),
    )
    failed: dict[NodeId, Diagnostic] = {}
    for model in query.stored:
        alone = alone_of(engine.job.topology, query.name, [model], engine.job.physical.lock)
        try:
            context = engine.with_histories(alone, engine.context_of(alone, ""), histories)
            try_out(engine.spark, alone, context, ranges)
        except Exception as error:  # noqa: BLE001 -- whatever fails, it is the failure of these models
            diagnostic = engine.diagnostic(alone, error)
            if diagnostic.code in PASSING:
                return {}
            failed[model] = diagnostic
    return failed
