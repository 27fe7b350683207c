"""The queries of a run, which an apply can replace while the others continue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence

from millstream.core.errors import MillstreamError
from millstream.deploy.engine import Engine
from millstream.deploy.live.consumer_offsets import OffsetCommitter
from millstream.deploy.live.query_order import upstream_queries
from millstream.deploy.live.shared_gates import SharedGates
from millstream.deploy.live.supervisor import AT_ONCE, SupervisedQuery
from millstream.deploy.planning.stages import Stage, stages_of_query
from millstream.engine.queries.realtime import check_slots, partitions_of
from millstream.engine.queries.triggers import RealTime, trigger_of
from millstream.queries.values import Query

DRAIN = 30.0
"""Seconds for running batches to end when queries stop."""
INTERRUPTED = 2.0
"""Seconds for batches that did not, and were interrupted, when the run ends; then it ends without them."""


class LiveQueries:
    """The supervised queries by name; `running` is the version of the project that started them."""

    def __init__(self, engine: Engine) -> None:
        self.running = engine
        self._supervised: dict[str, SupervisedQuery] = {}
        project = engine.job.project
        self._commits = OffsetCommitter(
            engine.spark, engine.kafka.cluster, project.settings.name, project.target.environment
        )
        self._together = SharedGates()
        self._lock = threading.Lock()
        self._ended = False
        self.failure: MillstreamError | None = None
        """Why the run must end: a swap has begun that this process could not complete."""

    def all(self) -> list[SupervisedQuery]:
        with self._lock:
            return list(self._supervised.values())

    def of(self, name: str) -> SupervisedQuery | None:
        with self._lock:
            return self._supervised.get(name)

    @property
    def queries(self) -> list[Query]:
        return [supervised.query for supervised in self.all()]

    @property
    def topics(self) -> set[str]:
        """The topics that the queries read."""
        return {topic for query in self.queries for topic in query.topics_read}

    def start(
        self,
        queries: Sequence[Query],
        stages: Sequence[Stage],
        *,
        at_once: int = AT_ONCE,
        awaited: Collection[str] | None = None,
    ) -> None:
        """Start queries, each once those whose tables it looks up, or the `awaited` ones, have caught up."""
        engine = self.running
        trigger = trigger_of(engine.job.trigger)
        read = {topic for query in queries for topic in query.topics_read}
        ends = engine.ends(queries)
        names = {query.name for query in queries}
        if isinstance(trigger, RealTime):
            counts = {topic: len(numbers) for topic, numbers in engine.kafka.held(read | self.topics).items()}
            others = [query for query in self.queries if query.name not in names]
            eligible = [query for query in (*others, *queries) if not query.realtime]
            check_slots(engine.spark, [(query, partitions_of(query, counts)) for query in eligible])
        starts = threading.Semaphore(at_once)
        started = {
            query.name: SupervisedQuery(
                engine,
                query,
                stages_of_query(stages, query.name),
                trigger,
                ends,
                self._commits,
                starts,
                self._together,
            )
            for query in queries
        }
        upstream = upstream_queries(queries)
        with self._lock:
            if self._ended:
                return
            self._supervised |= started
            for name, supervised in started.items():
                after = upstream[name] if awaited is None else upstream[name].intersection(awaited)
                supervised.start([started[other] for other in sorted(after)])

    def halt(self, names: Iterable[str]) -> list[SupervisedQuery]:
        """Stop queries between two batches, and return them."""
        halted = [supervised for name in names if (supervised := self.of(name)) is not None]
        _together(SupervisedQuery.halt, halted)
        with self._lock:
            for supervised in halted:
                self._supervised.pop(supervised.query.name, None)
        return halted

    def await_batch(self, names: Iterable[str], seconds: float) -> None:
        """Wait until one of these queries has completed a batch: then their tables have the newest rows."""
        counts = [
            (supervised, supervised.batches) for name in names if (supervised := self.of(name)) is not None
        ]
        deadline = time.monotonic() + seconds
        while (
            counts
            and time.monotonic() < deadline
            and all(supervised.batches == n for supervised, n in counts)
        ):
            time.sleep(0.05)

    def pause(self) -> None:
        _together(SupervisedQuery.pause, self.all())

    def lose(self) -> None:
        """Stop after the JVM has died."""
        for supervised in self.all():
            supervised.lose()

    def end(self) -> None:
        """Stop all queries for good; no other one starts from now on."""
        with self._lock:
            self._ended = True
        _together(SupervisedQuery.stop, self.all(), INTERRUPTED)


def _together(
    stop: Callable[[SupervisedQuery, float], None],
    supervised: Collection[SupervisedQuery],
    interrupted: float | None = None,
) -> None:
    """Stop queries in parallel; each may complete its batch.

    `interrupted` is how long those that don't are waited for after that; None: until they have ended.
    """
    deadline = time.monotonic() + DRAIN
    threads = [threading.Thread(target=stop, args=(query, deadline), daemon=True) for query in supervised]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(None if interrupted is None else max(0.0, deadline + interrupted - time.monotonic()))
