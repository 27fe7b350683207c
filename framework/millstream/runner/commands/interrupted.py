"""Counts the records of a batch that was begun and did not complete."""

from __future__ import annotations

from millstream.core.errors import MillstreamError
from millstream.deploy.checkpoints.files import last_begun, last_done, read_up_to
from millstream.deploy.engine import Engine
from millstream.queries.values import Query


def unfinished_batch(engine: Engine, query: Query, checkpoint: str) -> dict[str, int]:
    """Return how many records of each source or model the batch reads; empty if no batch is unfinished."""
    begun, done = last_begun(engine.files, checkpoint), last_done(engine.files, checkpoint)
    if begun is None or begun == done:
        return {}
    ends = read_up_to(engine.files, checkpoint, begun, query.streams)
    starts = read_up_to(engine.files, checkpoint, done, query.streams) if done is not None else {}
    if ends is None or starts is None:
        return {}
    try:
        ranges = engine.ranges(query, starts, ends)
    except MillstreamError:
        return {}  # Kafka does not answer, which is why the query failed
    relations = {source.stream: source.relation for source in query.sources if source.stream}
    return {relations[stream]: part.amount for stream, part in ranges.items()}
