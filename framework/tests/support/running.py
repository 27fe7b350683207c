"""A run of a project within the tests' own Spark, in a thread, and what it tells awaited."""

import threading
from collections.abc import Callable
from contextlib import contextmanager

from millstream.ops.query_status import RunTotals
from millstream.runner.commands.run import run_models
from support.runs import job_of

PATIENCE = 90
"""Seconds that something has to happen in."""


class Running:
    """What a run told so far; waiting for more of it."""

    def __init__(self, also=()):
        self.events = []
        self._also = also
        self.totals = RunTotals()
        self.stopping = threading.Event()
        self.error = None
        self._news = threading.Condition()

    def tell(self, event):
        self.totals.tell(event)
        for tell in self._also:
            tell(event)
        with self._news:
            self.events.append(event)
            self._news.notify_all()

    def until(self, condition: Callable[[], object]):
        """Wait until something is so; whatever is told, it is asked again."""
        with self._news:
            assert self._news.wait_for(lambda: self.error or condition(), PATIENCE), self.events[-5:]
        if self.error:
            raise self.error
        return condition()

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


@contextmanager
def running(root, spark, *, target=None, alongside=lambda _: (), also=(), **options):
    """Run a project while the block does; `alongside` returns work for its own threads, from the `Running`.

    Events are also told to `also`.
    """
    running = Running(also)
    job = job_of(root, target=target, **options)

    def go():
        try:
            run_models(job, root / ".millstream", running.tell, running.stopping, spark, alongside(running))
        except BaseException as error:  # noqa: BLE001 -- raised by the test
            with running._news:
                running.error = error
                running._news.notify_all()

    thread = threading.Thread(target=go, name="run")
    thread.start()
    try:
        yield running
    finally:
        running.stopping.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()
    if running.error:
        raise running.error
