"""Collects what the live page shows from the events of a run."""

from __future__ import annotations

import threading
import time

from millstream.core.node_id import NodeId
from millstream.deploy.values import BatchCompleted, Event, QueryFailed, QueryRunning, SetupStep, TopicEnds
from millstream.ops.live_page.rows import NewestRows
from millstream.ops.live_page.values import ShownQuery, ShownRun
from millstream.ops.query_status import QueryStatus, RunTotals
from millstream.ops.rates import RecentRates


class LivePage:
    """The current state of a run, for the page's script."""

    def __init__(self, project: str, sources: dict[NodeId, str], totals: RunTotals, rows: NewestRows) -> None:
        """Show a project; `sources` has the topics of its sources, by their ids."""
        self._project = project
        self._sources = sources
        self._totals = totals
        self._rows = rows
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._stages: dict[str, str] = {}
        self._messages: dict[str, str] = {}
        self._ends: dict[str, int] = {}
        self._rates = RecentRates()
        self._ended = False

    def tell(self, event: Event) -> None:
        with self._lock:
            match event:
                case SetupStep(name=name, done=True):
                    self._stages.pop(name, None)
                case SetupStep(name=name, message=message):
                    self._stages[name] = message
                case QueryFailed(query=name, diagnostic=diagnostic):
                    self._messages[name] = diagnostic.message
                case QueryRunning(query=query):
                    self._stages.clear()
                    self._messages.pop(query.name, None)
                case BatchCompleted(query=name):
                    self._messages.pop(name, None)
                case TopicEnds(streams=ends):
                    self._ends |= {stream: end.since(None) for stream, end in ends.items()}
                case _:
                    pass

    def say(self, stage: str) -> None:
        """Show what is done before the run begins."""
        self.tell(SetupStep(stage))

    def sent(self, topic: str, records: int) -> None:
        """Note how many records a topic has got."""
        with self._lock:
            self._ends[topic] = max(records, self._ends.get(topic, 0))

    def end(self) -> None:
        """Show that the run is stopping."""
        self._ended = True

    def shown(self) -> ShownRun:
        seen, now = self._totals.all(), time.monotonic()
        rows = self._rows.shown()
        with self._lock:
            stage = ", ".join(
                f"{name}: {message}" if message else name for name, message in self._stages.items()
            )
            totals = {id_: self._ends.get(topic, 0) for id_, topic in self._sources.items()}
            for status in seen:
                totals |= {NodeId("model", model): status.model_rows[model] for model in status.models}
            nodes = {id_: (total, self._rates.of(id_, total, now)) for id_, total in totals.items()}
            queries = [self._query(status, now) for status in seen]
        return ShownRun(self._project, stage, now - self._began, queries, nodes, rows, self._ended)

    def _query(self, seen: QueryStatus, now: float) -> ShownQuery:
        batch = seen.last
        return ShownQuery(
            seen.query,
            seen.models,
            seen.status,
            seen.rows,
            self._rates.of(NodeId("query", seen.query), seen.rows, now),
            batch.seconds if batch else None,
            batch.latency if batch else None,
            sum(seen.lag.values()),
            seen.late,
            seen.bad,
            seen.failures,
            batch.state_rows if batch else 0,
            self._messages.get(seen.query, ""),
        )
