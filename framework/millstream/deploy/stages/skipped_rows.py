"""Lets a rebuilt query hand over no rows of what the running version has read, where the model says so.

The first batch of the rebuild ends where the running version stopped: it only brings the state up to date.
"""

from __future__ import annotations

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.checkpoints import pending_swap
from millstream.deploy.checkpoints.files import cut_batch, last_begun, last_done, read_up_to
from millstream.deploy.engine import Engine
from millstream.deploy.stages.compare import comparable_ends, plan_first_batch
from millstream.engine.queries.start import QueryContext
from millstream.queries.commands import full_refresh
from millstream.queries.values import Query, TopicRead, WriterOutput
from millstream.sources.positions import stored


def without_earlier_rows(
    engine: Engine, query: Query, rebuilt_query: Query, context: QueryContext
) -> QueryContext:
    """Return a context in which the first batch hands over nothing, if the model starts from now."""
    if not any(isinstance(o, WriterOutput) and o.options.get("on_rebuild") == "skip" for o in query.outputs):
        return context
    files, checkpoint, record = engine.files, engine.checkpoint(query), engine.record(query)
    pending = pending_swap.read_pending(files, checkpoint)
    done = last_done(files, checkpoint.spark(record)) if record is not None else None
    if record is None or done is None or pending is None or last_done(files, context.checkpoint) is not None:
        return context  # nothing was read before, or the first batch is complete
    if pending.ends is None:
        ends = read_up_to(files, checkpoint.spark(record), done, query.streams) or {}
        reason = comparable_ends(engine, query, ends)
        if isinstance(reason, str) or not all(isinstance(source, TopicRead) for source in query.sources):
            raise MillstreamError(_not_from_now(query))
        plan_first_batch(engine, rebuilt_query, context)
        if last_begun(files, context.checkpoint) is None:
            return context  # there are no records
        cut_batch(files, context.checkpoint, 0, ends)
        pending_swap.write_pending(files, checkpoint, replace(pending, ends=stored(ends)))
    return replace(context, stores=replace(context.stores, skipped=0))


def _not_from_now(query: Query) -> Diagnostic:
    message = f"{query.title}: no batch of its rebuild can end where the running version has read its sources"
    remedy = f"hand over all rows again: {full_refresh(query.stored)}, or set on_rebuild='replay'"
    return Diagnostic("MS870", message, None, remedy)
