"""Lets another thread act exactly between two batches of a query, or end the query there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import Any


class ClosedError(Exception):
    """Refuses a batch that has been planned, but must not run: the next version of the query runs it."""


class BatchGate:
    """Every batch of a query passes it: nothing is stored or sent outside."""

    def __init__(
        self, turn: AbstractContextManager[Any] | None = None, put_back: Callable[[], None] = lambda: None
    ) -> None:
        self._turn = turn or nullcontext()
        """Limits the number of simultaneous batches of all queries."""
        self._put_back = put_back
        """Lets another query have the turn, if this one has it already and has to wait at the gate."""
        self._lock = threading.Lock()
        self._is_closed: Callable[[], bool] = lambda: False
        self._state = threading.Lock()
        self._refuses = False
        self._unfinished = False
        """A batch has begun, and its end may not be recorded."""
        self.waiting = False
        """A batch has been planned and waits at the gate, so the one before is complete."""

    def __enter__(self) -> None:
        self.waiting = True
        if not self._lock.acquire(blocking=False):
            self._put_back()
            self._lock.acquire()
        self.waiting = False
        try:
            self._check()
            self._turn.__enter__()
            self._begin()
        except BaseException:
            self._lock.release()
            raise

    def _check(self) -> None:
        if self._refuses or self._is_closed():
            raise ClosedError

    def _begin(self) -> None:
        with self._state:
            self._unfinished = not self._refuses
        if not self._unfinished:
            error = ClosedError()
            self._turn.__exit__(ClosedError, error, None)
            raise error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._turn.__exit__(kind, error, trace)
        finally:
            self._lock.release()

    @property
    def is_closed(self) -> bool:
        return self._is_closed()

    @contextmanager
    def between_batches(self) -> Iterator[None]:
        """Wait for the running batch to be stored, and hold the next one back meanwhile."""
        with self._lock:
            yield

    def refuse(self) -> bool:
        """Refuse all batches that have not begun, and return whether one has begun and may not be complete.

        What is only planned, or waits for its turn, has stored and sent nothing.
        """
        with self._state:
            self._refuses = True
            return self._unfinished

    def finish(self) -> None:
        """Note that Spark has recorded the end of the last batch."""
        with self._state:
            self._unfinished = False

    def close(self) -> None:
        """Wait for the running batch to be stored, and refuse all further ones."""
        with self._lock:
            self._is_closed = lambda: True

    def close_once(self, is_done: Callable[[], bool]) -> None:
        """Refuse batches from the first one before which `is_done`."""
        self._is_closed = is_done
