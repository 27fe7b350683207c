"""Stops the queries of a run that change, and starts those that take over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from msgspec.structs import replace

from millstream.core.errors import MillstreamError
from millstream.deploy.checkpoints.files import write_record
from millstream.deploy.engine import Engine
from millstream.deploy.handover.values import DeployFinished
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.live.supervisor import SupervisedQuery
from millstream.deploy.planning.definitions import is_same
from millstream.deploy.planning.intents import resume_intent
from millstream.deploy.planning.query_selection import choose_queries
from millstream.deploy.planning.stages import Create
from millstream.deploy.stages.execute import stages_of_restart
from millstream.deploy.values import ApplyStep, QueryRemoved

NEXT_BATCH = 10.0
"""Seconds to wait for a batch, so that the time without new rows begins with the handover, not before."""

_AT_ONCE = 8
"""Queries that start at a time: their classes are compiled, and others wait for them."""
_STARTING = 60.0
"""Seconds until queries that start are reported as they are."""


@contextmanager
def halt_queries(
    live: LiveQueries, names: Collection[str], step: Literal["handover", "splitting"] = "handover"
) -> Iterator[list[SupervisedQuery]]:
    """Stop queries between two batches; if the block fails, they continue."""
    live.running.tell(ApplyStep(step, tuple(sorted(names))))
    stopped = live.halt(names)
    try:
        yield stopped
    except BaseException:
        if live.failure is None:
            _start(live, stopped, [supervised.query.name for supervised in stopped])
        raise


def _start(live: LiveQueries, stopped: Sequence[SupervisedQuery], names: Collection[str]) -> None:
    queries = [supervised.query for supervised in stopped if supervised.query.name in names]
    stages = [stage for query in queries for stage in stages_of_restart(live.running, query)]
    live.start(queries, stages, at_once=_AT_ONCE, awaited=())


def take_over(
    live: LiveQueries, engine: Engine, stopped: Sequence[SupervisedQuery], swap: Callable[[], None]
) -> DeployFinished:
    """Swap, and start the queries of another version that do not run; from now on, the run executes that."""
    try:
        swap()
    except Exception as error:
        # The next command completes the swap, and a run is started again by its process manager.
        diagnostic = engine.diagnostic(stopped[0].query if stopped else engine.job.physical.queries[0], error)
        live.failure = MillstreamError(diagnostic)
        raise live.failure from error
    engine = replace(engine, job=replace(engine.job, intent=resume_intent(engine.job.intent)))
    before = {supervised.query.name for supervised in stopped}
    chosen = choose_queries(engine.job.physical.queries, engine.job.models)
    queries = [query for query in chosen if live.of(query.name) is None]
    added = tuple(sorted({query.name for query in queries} - before))
    removed = tuple(sorted(before - {query.name for query in queries}))
    for name in removed:
        engine.tell(QueryRemoved(name))
    _adopt(live, engine)
    stages = [stage for query in queries for stage in stages_of_restart(engine, query)]
    new = [stage.query for stage in stages if isinstance(stage, Create)]
    live.start(queries, stages, at_once=_AT_ONCE, awaited=new)
    replaced = tuple(sorted(before.intersection(query.name for query in queries)))
    for query in queries:
        if (supervised := live.of(query.name)) is not None and query.name in replaced:
            supervised.began.wait(_STARTING)
    return DeployFinished(replaced, added, removed)


def _adopt(live: LiveQueries, engine: Engine) -> None:
    """Let queries that execute the same continue as part of another version."""
    live.running = engine
    for supervised in live.all():
        supervised.adopt(engine)
        record = engine.record(supervised.query)
        if record is None:
            continue
        definition = engine.definition(supervised.query.stored)
        if not is_same(record.definition, definition):
            write_record(
                engine.files, engine.checkpoint(supervised.query), replace(record, definition=definition)
            )
