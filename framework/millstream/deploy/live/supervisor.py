"""Keeps a query running: restarts it after a failure, with increasing delay, until it is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace
from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import last_begun, last_done, read_so_far, read_up_to
from millstream.deploy.checkpoints.state_figures import write_figures
from millstream.deploy.checkpoints.swap import settle_swap
from millstream.deploy.engine import Engine
from millstream.deploy.live.batch_sizing import BatchSizing
from millstream.deploy.live.consumer_offsets import OffsetCommitter
from millstream.deploy.live.progress_listener import ProgressListener
from millstream.deploy.live.shared_gates import AtOneMoment, SharedGates
from millstream.deploy.live.turn_trigger import TurnTrigger, attach_trigger
from millstream.deploy.planning.stages import Stage, rebuilt_queries
from millstream.deploy.stages.execute import stages_of_restart
from millstream.deploy.stages.failed_models import isolate_failures, leave_out
from millstream.deploy.stages.prepare import prepare_query
from millstream.deploy.stages.rebuild import swap_rebuilt
from millstream.deploy.topics_needed import written_topics
from millstream.deploy.values import (
    BatchCompleted,
    LeftOut,
    QueryFailed,
    QueryIdle,
    QueryRunning,
    QueryStopped,
    QueryWaiting,
    SetupStep,
)
from millstream.engine.queries.batch_result import BatchResult
from millstream.engine.queries.gate import BatchGate
from millstream.engine.queries.realtime import start_realtime
from millstream.engine.queries.record_outcomes import fates_of_batch
from millstream.engine.queries.snapshots import Upkeep, moment_of
from millstream.engine.queries.start import QueryContext, start_query
from millstream.engine.queries.triggers import DEFAULT, IntervalTrigger, RealTime, RepeatedTrigger, Trigger
from millstream.engine.spark.session import lost_jvm
from millstream.project.contents import has_unchanged_imports
from millstream.queries.values import Query, TableMaintenance
from millstream.results.batch_stats import FILE, BatchTimes
from millstream.results.state_sizes import RestoredState, last_restored
from millstream.sources.positions import Positions, Read, covers
from millstream.sources.topic.positions import offsets_in
from millstream.stores.files import path_in, write_json

FIRST, LONGEST = 1.0, 60.0
"""Seconds until a failed query is restarted: at first, and at most."""
AT_ONCE = 2
"""Queries that start at a time; otherwise each would wait for all others to be planned and compiled."""
HEAD_START = 10.0
"""Seconds that a query gets for its first batch before the next query starts."""
ISOLATE_AFTER = 2
"""Consecutive failures after which the failing models of the query are searched."""
FIGURES = 10.0
"""Seconds between two notes of how large the state is."""
BETWEEN = 1.0
"""Seconds between two passes over available records."""
_LOOK = 0.05
"""Seconds between two looks at what Spark has recorded."""


class SupervisedQuery:
    """One query and the thread that keeps it running, which reports events."""

    def __init__(
        self,
        engine: Engine,
        query: Query,
        stages: Sequence[Stage],
        trigger: Trigger,
        ends: Read,
        commits: OffsetCommitter,
        starts: threading.Semaphore,
        together: SharedGates,
    ) -> None:
        self.query = query
        self._stages = stages
        """The stages before the query starts."""
        self.caught_up = threading.Event()
        """Set once it has read all records that its topics held when the run began."""
        self.began = threading.Event()
        """Set once Spark runs it."""
        self.batches = 0
        """How many batches have stored or sent rows."""
        self._running = engine
        self._trigger = trigger
        self._ends = {stream: ends[stream] for stream in query.streams if stream in ends}
        self._commits = commits
        self._stopping = threading.Event()
        self._starts = starts
        self._turn = engine.turn(query)
        self._together = together
        self._at_one_moment = AtOneMoment(together, self._turn)
        self._gate = BatchGate(self._at_one_moment, self._turn.put_back if self._turn else lambda: None)
        self._turnstile: TurnTrigger | None = None
        self._batch_sizing: BatchSizing | None = None
        self._halted = False
        self._interruptible = False
        """No batch has begun without an end, and none will begin."""
        self._lock = threading.Lock()
        self._streaming: StreamingQuery | None = None
        self._listener = ProgressListener()
        self._failures = 0
        self._repeats = False
        self._last: BatchResult | None = None
        self._restored: tuple[RestoredState | None, ...] = ()
        self._checkpoint = ""
        """The folder of Spark's checkpoint."""
        self._again: int | None = None
        """The number of a batch that was started before, and may have been stored."""
        self._times = BatchTimes()
        self._noted = 0.0
        self._left_out: set[NodeId] = set()
        self._raised: list[Exception] = []
        """Errors of its batches."""
        self._refresh: Callable[[], None] | None = None
        """Computes a table again whose SQL reads the clock."""
        self._thread = threading.Thread(target=self._keep, name=query.name, daemon=True)
        self._after: list[SupervisedQuery] = []

    @property
    def _rebuilds(self) -> bool:
        return bool(rebuilt_queries(self._stages))

    def start(self, after: list[SupervisedQuery]) -> None:
        """Start it once others have caught up, since its rows look up theirs."""
        self._after = after
        self._running.tell(QueryWaiting(self.query))
        self._thread.start()

    def adopt(self, engine: Engine) -> None:
        """Restart by another version of the project after failures; that executes the query unchanged."""
        self._running = engine
        self._set_moment()
        service = engine.service(self.query)
        if self._turn is not None:
            self._turn.priority = service.priority
        if self._batch_sizing is not None and service.latency is not None:
            self._batch_sizing.latency = service.latency

    def stop(self, deadline: float) -> None:
        """Stop it for good, after the batch that executes or at `deadline` of the monotonic clock.

        A batch that is still planned is not waited for: that can take long, and it has stored nothing.
        """
        self._stopping.set()
        self._interruptible = not self._gate.refuse() and not self._is_realtime
        if self._turn is not None:
            self._turn.give_up()
        self.pause(deadline)
        self._thread.join()

    def halt(self, deadline: float) -> None:
        """Stop it for good exactly between two batches; the next one may be planned already."""
        self._stopping.set()
        self._halted = True
        self._gate.close()
        self.stop(deadline)

    @contextmanager
    def between_batches(self) -> Iterator[int | None]:
        """Hold the query between two batches; yield the last complete one.

        The result is None if there is none, or if the query has stopped within a batch.
        """
        with self._gate.between_batches():
            yield self._completed()

    def _completed(self) -> int | None:
        files, record = self._running.files, self._running.record(self.query)
        if record is None:
            return None
        spark = self._running.checkpoint(self.query).spark(record)
        while True:
            # A batch that waits at the gate is planned, after Spark has recorded the end of the one before.
            waiting, done, begun = self._gate.waiting, last_done(files, spark), last_begun(files, spark)
            if waiting or done == begun:
                return None if begun is not None and done != begun == self._again else done
            with self._lock:
                streaming = self._streaming
            if streaming is None or not streaming.isActive:
                return None
            time.sleep(_LOOK)

    def position(self) -> Positions:
        """Return up to where it has read its streams, by its complete batches.

        Once it is halted, that includes a batch that failed after it was sent.
        """
        files, record = self._running.files, self._running.record(self.query)
        if record is None:
            return {}
        if self._halted and not self._thread.is_alive():
            return self._running.read(self.query.name, record)
        return read_so_far(files, self._running.checkpoint(self.query).spark(record), self.query.streams)

    def lose(self) -> None:
        """Stop it after the JVM has died."""
        self._stopping.set()
        with self._lock:
            self._streaming = None
        self._listener.events.put("ended")

    def pause(self, deadline: float) -> None:
        """Stop the query after its current batch, or at `deadline` of the monotonic clock."""
        with self._lock:
            streaming = self._streaming
            if self._turnstile is not None:
                self._turnstile.close()
        if streaming is None:
            return
        try:
            while (busy := self._is_busy(streaming)) and time.monotonic() < deadline:
                time.sleep(0.05)
            self._repeats = busy
            streaming.stop()
        except (Py4JError, OSError) as error:
            if lost_jvm(error) is None:
                raise
            self._listener.events.put("ended")  # the JVM can't report it

    @property
    def _is_realtime(self) -> bool:
        """Return whether it runs in real-time mode, in which its batches pass no gate."""
        in_batches = self.query.realtime or self._rebuilds or self._running.service(self.query).every
        return isinstance(self._trigger, RealTime) and not in_batches

    def _is_busy(self, streaming: StreamingQuery) -> bool:
        if self._interruptible:
            return False
        return streaming.isActive and bool(streaming.status["isTriggerActive"])

    def _keep(self) -> None:
        for upstream in self._after:
            while not upstream.caught_up.wait(0.2):
                if self._stopping.is_set():
                    return
        while not self._stopping.is_set():
            diagnostic = self._once()
            if self._stopping.is_set():
                break
            if diagnostic is None:
                self._stopping.wait(BETWEEN)
                continue
            self._failures += 1
            if self._failures >= ISOLATE_AFTER and self._isolated():
                continue
            wait = min(FIRST * 2 ** (self._failures - 1), LONGEST)
            self._running.tell(QueryFailed(self.query.name, diagnostic, self._failures, wait))
            self._stopping.wait(wait)
        if not self._halted:
            self._running.tell(QueryStopped(self.query.name, self._repeats))

    def _isolated(self) -> bool:
        """Leave out models that fail on their own, and return whether there are any."""
        failing = isolate_failures(self._running, leave_out(self._running, self.query, self._left_out))
        for model, diagnostic in failing.items():
            self._left_out.add(model)
            self._running.tell(LeftOut(self.query.name, model, diagnostic))
        return bool(failing)

    def _once(self) -> Diagnostic | None:
        """Run it until it ends; return the error unless it was stopped."""
        listener = self._listener = ProgressListener()
        try:
            with self._starts:
                streaming = None if self._stopping.is_set() else self._start(listener)
                if streaming is None:
                    return None
                self._running.tell(QueryRunning(self.query, self._rebuilds))
                self.began.set()
                event = listener.first(HEAD_START)
            while (event := event or listener.events.get()) != "ended":
                self._handle(event)
                event = None
            self._note()
            error = self._raised[-1] if self._raised else streaming.exception()
            if self._rebuilds and error is None and not self._stopping.is_set():
                swap_rebuilt(self._running, self.query)
                self._stages = stages_of_restart(self._running, self.query)
        except Exception as raised:  # noqa: BLE001 -- an exception of the thread would go unnoticed
            if self._stopping.is_set():
                return None
            return self._running.diagnostic(self.query, raised)
        finally:
            self._together.leave(self._gate)
            with self._lock:
                self._streaming = None
                if self._turnstile is not None:
                    self._turnstile.leave()
        return None if error is None else self._running.diagnostic(self.query, error)

    def _start(self, listener: ProgressListener) -> StreamingQuery | None:
        engine = self._running
        swapped = settle_swap(engine.files, engine.tables, engine.held, engine.checkpoint(self.query))
        if swapped or (self._failures and not self._rebuilds):
            self._stages = stages_of_restart(self._running, self.query)
        if self._failures and (missing := self._running.kafka.create(written_topics([self.query]))):
            note = f"{', '.join(missing)} {'was' if len(missing) == 1 else 'were'} missing; recreated"
            self._running.tell(SetupStep("topics", note, done=True))
        self._check_imports()
        query, context = prepare_query(self._running, self.query, self._stages, self._left_out)
        # Without a limit, Spark writes records without calls per batch, which a gate needs.
        context = replace(context, stores=replace(context.stores, turn=self._gate))
        if query.maintaining is not None:
            context = self._kept_together(query.maintaining, context)
        self._gate.finish()
        self._together.enter(query.name, self._gate)
        listener.counted, self._raised = context.stores.counted, context.stores.raised
        self._checkpoint, self._again = context.checkpoint, context.stores.again
        context = self._with_sizing(query, context)
        with self._lock:
            if self._stopping.is_set():
                return None
            spark = self._running.spark
            every = self._running.service(self.query).every
            trigger = IntervalTrigger(every) if every else self._trigger
            match RepeatedTrigger() if self._rebuilds else trigger:
                case RealTime() if not query.realtime:
                    self._streaming = start_realtime(spark, query, context, listener)
                case RealTime():
                    self._streaming = self._in_batches(query, context, listener, IntervalTrigger(DEFAULT))
                case (IntervalTrigger() | RepeatedTrigger()) as chosen:
                    self._streaming = self._in_batches(query, context, listener, chosen)
            if self._batch_sizing is not None:
                self._batch_sizing.begin(self._streaming)
            return self._streaming

    def _in_batches(
        self,
        query: Query,
        context: QueryContext,
        listener: ProgressListener,
        trigger: IntervalTrigger | RepeatedTrigger,
    ) -> StreamingQuery:
        spark = self._running.spark
        streaming = start_query(spark, query, context, listener, **trigger.options)
        if isinstance(trigger, IntervalTrigger) and self._turn is not None and query.maintaining is None:
            self._turnstile = attach_trigger(spark, streaming, self._turn, self._gate.finish)
        return streaming

    def _set_moment(self) -> None:
        """Work out what the query has to read at one snapshot."""
        if self.query.maintaining is not None:
            queries = self._running.job.physical.queries
            separate = {
                model for query in queries if self._running.service(query).every for model in query.stored
            }
            self._at_one_moment.moment = moment_of(self.query, queries, separate)

    def _kept_together(self, plan: TableMaintenance, context: QueryContext) -> QueryContext:
        """Let a table over tables read its inputs at one snapshot, and others read it so."""
        self._set_moment()
        at_versions = partial(self._at_one_moment.versions, context.tables)

        def keep(upkeep: Upkeep) -> None:
            self._together.keep(plan.target.model, self._gate, upkeep)
            if plan.maintenance.changing:
                self._refresh = lambda: upkeep(at_versions(self._running.spark))

        return replace(context, at_versions=at_versions, keep=keep)

    def _with_sizing(self, query: Query, context: QueryContext) -> QueryContext:
        """Limit the first batch, if a time is given for its results; a rebuild reads as much as it can."""
        latency = self._running.service(query).latency
        realtime = isinstance(self._trigger, RealTime) and not query.realtime
        if latency is None or realtime or self._rebuilds:
            self._batch_sizing = None
            return context
        self._batch_sizing = BatchSizing(latency, query, context, self._turn)
        return self._batch_sizing.context

    def _note(self) -> None:
        """Store how large the state is, for `state`, and how long batches take, for `explain`."""
        engine, self._noted = self._running, time.monotonic()
        record = engine.record(self.query)
        if self._last is not None and record is not None and not self._rebuilds:
            checkpoint = engine.checkpoint(self.query)
            write_figures(engine.files, checkpoint, record, self._last, self._restored)
            if (times := self._times.figures()) is not None:
                write_json(engine.files, path_in(checkpoint.folder, FILE), times)

    def _check_imports(self) -> None:
        """Refuse to start functions whose modules were edited: Python's workers would import the new ones."""
        project = self._running.job.project
        if self.query.functions and not has_unchanged_imports(project):
            message = f"{self.query.title}: a module, file or library that functions import has changed"
            remedy = "restore it, or stop the run, run `millstream apply`, and start the run again"
            raise MillstreamError(Diagnostic("MS889", message, None, remedy))

    def _with_positions(self, batch: BatchResult) -> BatchResult:
        """Add where a batch has read sources other than topics, and how much of them is left."""
        if not self.query.source_reads:
            return batch
        read = read_up_to(self._running.files, self._checkpoint, batch.number, self.query.streams) or {}
        behind = {
            source.stream: read[source.stream].behind(self._ends[source.stream])
            for source in self.query.source_reads
            if source.stream in read and source.stream in self._ends
        }
        return replace(batch, read=read | batch.read, behind=batch.behind | behind)

    def _handle(self, event: BatchResult | str) -> None:
        if isinstance(event, BatchResult):
            event = self._with_positions(event)
            if self._batch_sizing is not None:
                self._batch_sizing.note(event)
            self._failures = 0
            self.batches += bool(event.rows)
            self._commits.commit(self.query.name, offsets_in(event.read))
            self._last = event
            self._times.add(event.rows, event.seconds)
            self._restored = last_restored(self._restored, event.operators)
            if time.monotonic() - self._noted > FIGURES:
                self._note()
            counted = replace(event, fates=fates_of_batch(self.query, event))
            self._running.tell(BatchCompleted(self.query.name, counted))
            if covers(event.read, self._ends) and not self._rebuilds:
                self.caught_up.set()
        else:
            if self._refresh is not None:
                # Nothing it reads has changed, but its SQL gives other rows as time passes.
                with self._gate:
                    self._refresh()
            self._running.tell(QueryIdle(self.query.name))
            if not self._rebuilds:
                self.caught_up.set()
