"""Turns of batches on one machine: how many execute at a time, and which ones go first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from millstream.engine.queries.gate import ClosedError

PATIENCE = 4
"""How often a batch is overtaken by batches of a higher priority before it goes first."""


class BatchTurns:
    """At most so many batches execute at a time, as there are cores: more would only slow each other down.

    A batch that waits collects more records: under load, batches become fewer and larger. Once there are
    quick batches, one place is for them alone, so that they don't wait for long ones. Higher priorities go
    first; turns of the same priority come in order.
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._permits = at_once
        self._lane = 0
        self._has_lane = False
        self._line: list[QueryTurn] = []
        self._changed = threading.Condition()

    def take(self, turn: QueryTurn, given_up: Callable[[], bool]) -> bool | None:
        """Wait for a turn; return whether it is the one of quick batches, or None if it was given up."""
        with self._changed:
            turn.overtaken = 0
            if turn.quick and not self._has_lane:
                self._has_lane = True
                self._permits -= 1
                self._lane += 1
            self._line.append(turn)
            try:
                self._changed.wait_for(lambda: given_up() or self._in_lane(turn) or self._is_next(turn))
                if given_up():
                    return None
                in_lane = self._in_lane(turn)
                self._add(-1, in_lane=in_lane)
                for waiting in self._line[: self._line.index(turn)]:
                    waiting.overtaken += waiting.priority < turn.priority
            finally:
                self._line.remove(turn)
                self._changed.notify_all()
        return in_lane

    def give_back(self, *, in_lane: bool) -> None:
        with self._changed:
            self._add(1, in_lane=in_lane)
            self._changed.notify_all()

    def look_again(self) -> None:
        """Let those that wait see that they have given up."""
        with self._changed:
            self._changed.notify_all()

    def _in_lane(self, turn: QueryTurn) -> bool:
        return (
            self._lane > 0
            and turn.quick
            and _first([waiting for waiting in self._line if waiting.quick]) is turn
        )

    def _is_next(self, turn: QueryTurn) -> bool:
        return self._permits > 0 and _first(self._line) is turn

    def _add(self, number: int, *, in_lane: bool) -> None:
        if in_lane:
            self._lane += number
        else:
            self._permits += number


class QueryTurn:
    """The turns of one query, which has one batch at a time."""

    def __init__(self, turns: BatchTurns, *, quick: bool, priority: int = 0) -> None:
        self.quick = quick
        """Its batches are expected to be short: they write no tables."""
        self.priority = priority
        self.overtaken = 0
        """How many batches of a higher priority have gone first since it began to wait."""
        self.waited = 0.0
        """Seconds that the last batch waited."""
        self._turns = turns
        self._in_lane = False
        self._lock = threading.Lock()
        self._early = False
        """It has its turn, and no batch has entered."""
        self._given_up = False

    def take_early(self, given_up: Callable[[], bool]) -> bool:
        """Wait for the turn of a batch that is still to be planned; return whether it was not given up."""
        if not self._take(given_up):
            return False
        with self._lock:
            self._early = True
        if given_up():  # meanwhile
            self.put_back()
            return False
        return True

    def put_back(self) -> None:
        """Give up an early turn that no batch has used."""
        if self._used():
            self._turns.give_back(in_lane=self._in_lane)

    def look_again(self) -> None:
        """Let it see that it has been given up, if it waits."""
        self._turns.look_again()

    def give_up(self) -> None:
        """Let no batch wait for its turn from now on."""
        self._given_up = True
        self._turns.look_again()

    def __enter__(self) -> None:
        if not self._used() and not self._take(lambda: self._given_up):
            raise ClosedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turns.give_back(in_lane=self._in_lane)

    def _take(self, given_up: Callable[[], bool]) -> bool:
        began = time.monotonic()
        taken = self._turns.take(self, given_up)
        self.waited = time.monotonic() - began
        if taken is not None:
            self._in_lane = taken
        return taken is not None

    def _used(self) -> bool:
        """Return whether it had its turn early, which is used from now on."""
        with self._lock:
            early, self._early = self._early, False
        return early


def _first(line: list[QueryTurn]) -> QueryTurn:
    """Return the turn that goes first; `max` takes the one that waits longest of equal ones."""
    return max(line, key=lambda turn: (turn.overtaken >= PATIENCE, turn.priority))
