"""The new version of a query, which catches up alongside the running one and sends nothing meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from queue import Empty
from typing import Any

from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints import pending_swap
from millstream.deploy.checkpoints.applied import LastApply
from millstream.deploy.checkpoints.files import read_so_far, read_up_to
from millstream.deploy.checkpoints.held_records import hold_records
from millstream.deploy.checkpoints.pending_swap import Bounds, rename_output
from millstream.deploy.engine import Engine
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.live.progress_listener import ProgressListener
from millstream.deploy.live.supervisor import SupervisedQuery
from millstream.deploy.planning.stages import Compare
from millstream.deploy.stages.compare import WITHIN_BATCH, comparable_ends, with_comparison
from millstream.deploy.stages.rebuild import begin_rebuild
from millstream.engine.queries.batch_result import BatchResult
from millstream.engine.queries.gate import BatchGate
from millstream.engine.queries.start import start_query
from millstream.engine.queries.tables import SNAPSHOT_SUFFIX
from millstream.engine.queries.triggers import DEFAULT, IntervalTrigger
from millstream.queries.values import Query
from millstream.sources.positions import Positions, Read, covers, stored
from millstream.sources.topic.positions import offsets_in

SHORT = 3.0
"""Seconds of a batch after which a version has caught up: the next ones are as short."""
_CONVERGED = 0.8
"""A batch that takes more than this part of the time of the one before: it does not get shorter."""
_LOOK = 0.2
"""Seconds between two looks at whether to go on."""


class CatchUpVersion:
    """A rebuilt query, from its start until it has stopped for the swap."""

    def __init__(
        self,
        engine: Engine,
        live: LiveQueries,
        query: Query,
        compare: Compare | None,
        applied: LastApply,
        turn: BatchGate,
        go_on: Callable[[], None],
    ) -> None:
        self.query = query
        self._running = engine
        self._live = live
        self._go_on = go_on
        """Raises an error if the apply must not continue."""
        self._listener = ProgressListener()
        self._gate = BatchGate(turn)
        self._read: Positions = {}
        self._writers = writers_of(live, query)
        self._streaming, self._raised = self._started(compare, applied)

    def _started(self, compare: Compare | None, applied: LastApply) -> tuple[StreamingQuery, list[Exception]]:
        engine, query = self._running, self.query
        prepared, context = begin_rebuild(engine, query, applied.id, held=True)
        if compare is not None:
            context = with_comparison(
                engine, query, prepared, context, compare, applied.replaced, self._snapshot
            )
        pending = pending_swap.read_pending(engine.files, engine.checkpoint(query))
        assert pending is not None
        letters = [output.topic for output in query.dead_letters if output.source.kind == "source"]
        self._checkpoint = context.checkpoint
        self._read = read_so_far(engine.files, context.checkpoint, query.streams)
        hold = (
            _without_holding
            if self.sends_rest
            else hold_records(engine.checkpoint(query).held(pending.record), letters, self.bounds)
        )
        writer = replace(context.stores, turn=self._gate, hold=hold)
        with _sharing_cores(engine.spark):
            streaming = start_query(
                engine.spark,
                prepared,
                replace(context, stores=writer),
                self._listener,
                **IntervalTrigger(DEFAULT).options,
            )
        return streaming, writer.raised

    def _snapshot(self) -> Positions | str:
        """Copy the tables of the running version between two of its batches; return how far it has read."""
        engine, query = self._running, self.query
        writer, record = self._live.of(query.name), engine.record(query)
        if writer is None or record is None:
            return "the running version does not run"
        with writer.between_batches() as done:
            if done is None:
                return WITHIN_BATCH
            ends = read_up_to(engine.files, engine.checkpoint(query).spark(record), done, query.streams) or {}
            for table in query.tables:
                engine.tables.copy(table, rename_output(table, SNAPSHOT_SUFFIX))
        return comparable_ends(engine, query, ends)

    def bounds(self) -> Bounds:
        """Return which records the running version has sent, by topic of a sink."""
        return {topic: offsets_in(writer.position()) for topic, writer in self._writers.items()}

    @property
    def sends_rest(self) -> bool:
        """Whether it sends only the rows that the running version has not read, once it takes over.

        What a sink makes of a topic's records has their position. Other rows have none, so they are read
        again, as for a model that joins a query.
        """
        query = self.query
        return (
            bool(query.source_reads)
            and not query.signature.stateful
            and len(query.sinks) == len(query.outputs)
        )

    def starts(self) -> dict[NodeId, dict[str, Any]]:
        """Return the stored positions from which each model has rows to send, for what `sends_rest`."""
        return {
            sink.model: stored({s: p for s, p in writer.position().items() if s in self.query.streams})
            for sink in self.query.sinks
            if (writer := self._writers.get(sink.topic)) is not None
        }

    def catch_up(self) -> None:
        """Wait until its batches are as short as they get."""
        before: float | None = None
        while (batch := self._event()) is not None:
            converged = before is not None and batch.seconds > _CONVERGED * before
            # The first batch ends where the running version was, some time ago.
            if batch.number > 0 and (batch.seconds <= SHORT or converged):
                return
            before = batch.seconds

    def reach(self, position: Read, seconds: float) -> None:
        """Wait until it has read what the running version had read when it stopped."""
        ends = {stream: position[stream] for stream in self.query.streams if stream in position}
        # How far the changes of a table are read is not known: the second batch from now on has all of them.
        batches = 2 if self.query.table_reads else 0
        if not batches:
            # Records that come meanwhile are left to the queries that take over.
            self._gate.close_once(lambda: covers(self._read_so_far(), ends))
        deadline = time.monotonic() + seconds
        while batches or not covers(self._read, ends):
            batch = self._event(deadline)
            batches = 0 if batch is None else max(0, batches - 1)
            if time.monotonic() > deadline:
                message = (
                    f"the new version of {self.query.title} did not catch up within {seconds:.0f} seconds"
                )
                remedy = "repeat the command when there is less load: it continues from there"
                raise MillstreamError(Diagnostic("MS898", message, None, remedy))

    def _read_so_far(self) -> Positions:
        return read_so_far(self._running.files, self._checkpoint, self.query.streams)

    def stop(self) -> None:
        """Stop it between two batches."""
        self._gate.close()
        while self._streaming.isActive and self._streaming.status["isTriggerActive"]:
            time.sleep(0.05)
        self._streaming.stop()

    def abandon(self) -> None:
        """Stop it soon: what it has stored remains for a repeated apply."""
        self._streaming.stop()

    def _event(self, deadline: float | None = None) -> BatchResult | None:
        """Return its next batch, or None if it has nothing to read; raise its error."""
        while True:
            self._go_on()
            try:
                event = self._listener.events.get(timeout=_LOOK)
            except Empty:
                if deadline is not None and time.monotonic() > deadline:
                    return None
                continue
            if isinstance(event, BatchResult):
                self._read |= event.read if not self.query.source_reads else self._read_so_far()
                return event
            if event == "idle":
                return None
            raise self._error()

    def _error(self) -> MillstreamError:
        error = self._raised[-1] if self._raised else self._streaming.exception()
        assert error is not None, f"the new version of {self.query.name} was stopped"
        return MillstreamError(self._running.diagnostic(self.query, error))


def _without_holding(_records: DataFrame, _number: int) -> None:
    """Hold no records: they are sent later."""


@contextmanager
def _sharing_cores(spark: SparkSession) -> Iterator[None]:
    """Let the jobs of a query that is started share the cores with those of all running queries.

    Otherwise, a batch that reads all that the topics have would use the cores before they do.
    """
    name = "spark.scheduler.pool"
    spark.sparkContext.setLocalProperty(name, "alongside")
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty(name, None)  # type: ignore[arg-type]  # as PySpark documents


def writers_of(live: LiveQueries, query: Query) -> dict[str, SupervisedQuery]:
    """Return the running queries that write a query's topics, by topic; dead letters of sources are apart."""
    topics = {output.topic for output in query.outputs if output.topic}
    return {
        target.topic: supervised
        for supervised in live.all()
        for target in supervised.query.outputs
        if target.topic in topics
    }


def names_of(alongside: Collection[CatchUpVersion]) -> str:
    return ", ".join(version.query.title for version in alongside)
