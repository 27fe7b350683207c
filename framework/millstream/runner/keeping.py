"""A query that is kept running: started again after a failure, later and later, until it is asked to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from pyspark.sql.streaming.query import StreamingQuery

from millstream.deployment.stages import Stage, rebuilt
from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.values import Query
from millstream.runner.batches import Batch, Offsets, has_read
from millstream.runner.committing import Commits
from millstream.runner.deploying import resumed
from millstream.runner.engine import Engine
from millstream.runner.isolating import isolate, without
from millstream.runner.listening import Listener
from millstream.runner.preparing import prepare
from millstream.runner.realtime import start_realtime
from millstream.runner.rebuilding import swap
from millstream.runner.starting import start
from millstream.runner.swapping import settle
from millstream.runner.triggers import DEFAULT, Every, Passes, RealTime, Trigger
from millstream.runner.values import Batched, Failed, Idle, LeftOut, Running, Setup, Stopped, Waiting
from millstream.runner.wanted import written_topics

FIRST, LONGEST = 1.0, 60.0
"""Seconds until a failed query is started again: at first, and at most."""
AT_ONCE = 2
"""Queries that begin at a time: all at once, each would wait for all others to be planned and compiled."""
HEAD_START = 10.0
"""Seconds that a query gets for its first batch before the next one begins."""
SURE = 2
"""Failures, one after the other, until it is asked which models of the query they are of."""
BETWEEN = 1.0
"""Seconds between two passes over what is there."""


class Kept:
    """One query and the thread that keeps it running. What happens to it is told as events."""

    def __init__(
        self,
        running: Engine,
        query: Query,
        stages: Sequence[Stage],
        trigger: Trigger,
        ends: Mapping[str, Offsets],
        commits: Commits,
        stopping: threading.Event,
        gate: threading.Semaphore,
    ) -> None:
        self.query = query
        self._stages = stages
        """What is to be done with it first."""
        self.caught_up = threading.Event()
        """It has read all that its topics held when the run began."""
        self._running = running
        self._trigger = trigger
        self._ends = {source.topic: ends.get(source.topic, {}) for source in query.sources if source.topic}
        self._commits = commits
        self._stopping = stopping
        self._gate = gate
        self._lock = threading.Lock()
        self._streaming: StreamingQuery | None = None
        self._listener = Listener()
        self._failures = 0
        self._left_out: set[str] = set()
        self._raised: list[MillstreamError] = []
        """Why its batches were refused."""
        self._thread = threading.Thread(target=self._keep, name=query.name, daemon=True)
        self._after: list[Kept] = []

    @property
    def _rebuilds(self) -> bool:
        return bool(rebuilt(self._stages))

    def start(self, after: list[Kept]) -> None:
        """Start it when others have caught up: rows look up what these keep."""
        self._after = after
        self._running.tell(Waiting(self.query))
        self._thread.start()

    def stop(self, deadline: float) -> None:
        """End it; the run must be stopping, or it starts again."""
        self.pause(deadline)
        self._thread.join()

    def lose(self) -> None:
        """End it without the JVM, which is gone."""
        self._stopping.set()
        with self._lock:
            self._streaming = None
        self._listener.heard.put("ended")

    def pause(self, deadline: float) -> None:
        """Let the batch that runs end, but not longer than until a time of the monotonic clock."""
        with self._lock:
            streaming = self._streaming
        if streaming is not None:
            while _in_batch(streaming) and time.monotonic() < deadline:
                time.sleep(0.05)
            streaming.stop()

    def _keep(self) -> None:
        for each in self._after:
            while not each.caught_up.wait(0.2):
                if self._stopping.is_set():
                    return
        while not self._stopping.is_set():
            problem = self._once()
            if self._stopping.is_set():
                break
            if problem is None:
                self._stopping.wait(BETWEEN)
                continue
            self._failures += 1
            if self._failures >= SURE and self._isolated():
                continue
            wait = min(FIRST * 2 ** (self._failures - 1), LONGEST)
            self._running.tell(Failed(self.query.name, problem, self._failures, wait))
            self._stopping.wait(wait)
        self._running.tell(Stopped(self.query.name))

    def _isolated(self) -> bool:
        """Go on without the models that fail on their own; tell if there are any."""
        found = isolate(self._running, without(self._running, self.query, self._left_out))
        for model, problem in found.items():
            self._left_out.add(model)
            self._running.tell(LeftOut(self.query.name, model, problem))
        return bool(found)

    def _once(self) -> Diagnostic | None:
        """Run it until it ends; return why, where it was not asked to."""
        listener = self._listener = Listener()
        try:
            with self._gate:
                streaming = self._started(listener)
                if streaming is None:
                    return None
                self._running.tell(Running(self.query, self._rebuilds))
                heard = listener.first(HEAD_START)
            while (heard := heard or listener.heard.get()) != "ended":
                self._heard(heard)
                heard = None
            error = self._raised[-1] if self._raised else streaming.exception()
            if self._rebuilds and error is None and not self._stopping.is_set():
                swap(self._running, self.query)
                self._stages = resumed(self._running, self.query)
        except Exception as raised:  # noqa: BLE001 -- of a thread that just ends nobody would hear
            if self._stopping.is_set():
                return None
            return self._running.problem(self.query, raised)
        finally:
            with self._lock:
                self._streaming = None
        return None if error is None else self._running.problem(self.query, error)

    def _started(self, listener: Listener) -> StreamingQuery | None:
        if settle(self._running.files, self._running.tables, self._running.place(self.query)):
            self._stages = resumed(self._running, self.query)  # a swap that had failed is done
        elif self._failures and not self._rebuilds:
            self._stages = resumed(self._running, self.query)
        if self._failures and (gone := self._running.kafka.create(written_topics([self.query]))):
            said = f"{', '.join(gone)} was gone, and is created again"
            self._running.tell(Setup("topics", said, done=True))
        query, around = prepare(self._running, self.query, self._stages, self._left_out)
        listener.tested, self._raised = around.stores.tested, around.stores.raised
        with self._lock:
            if self._stopping.is_set():
                return None
            spark = self._running.spark
            match Passes() if self._rebuilds else self._trigger:
                case RealTime() if not query.realtime:
                    self._streaming = start_realtime(spark, query, around, listener)
                case RealTime():
                    self._streaming = start(spark, query, around, listener, **Every(DEFAULT).options)
                case Every() | Passes() as trigger:
                    self._streaming = start(spark, query, around, listener, **trigger.options)
            return self._streaming

    def _heard(self, heard: Batch | str) -> None:
        if isinstance(heard, Batch):
            self._failures = 0
            self._commits.commit(self.query.name, heard.read)
            self._running.tell(Batched(self.query.name, heard))
            if has_read(heard, self._ends) and not self._rebuilds:
                self.caught_up.set()
        else:
            self._running.tell(Idle(self.query.name))
            if not self._rebuilds:
                self.caught_up.set()


def _in_batch(streaming: StreamingQuery) -> bool:
    return bool(streaming.isActive and streaming.status["isTriggerActive"])
