"""Lets a query plan a batch once it has its turn: one that is planned and waits leaves out later records."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.engine.queries.batch_scheduler import QueryTurn
from millstream.engine.spark.jvm import implementing, own_class


class TurnTrigger:
    """Where one running query waits for its turns; Spark's own thread calls it through Py4J."""

    Java = implementing("millstream.spark.TurnClock$Turns")

    def __init__(self, turn: QueryTurn, ended: Callable[[], None]) -> None:
        self._turn = turn
        self._ended = ended
        self._closed = False

    def end(self) -> None:
        self._ended()
        self._turn.put_back()

    def begin(self) -> bool:
        return self._turn.take_early(lambda: self._closed)

    def close(self) -> None:
        """Let no further batch begin."""
        self._closed = True
        self._turn.look_again()

    def leave(self) -> None:
        """Give up what a query still has that has stopped."""
        self.close()
        self._turn.put_back()


def attach_trigger(
    session: SparkSession,
    streaming: StreamingQuery,
    turn: QueryTurn,
    ended: Callable[[], None] = lambda: None,
) -> TurnTrigger:
    """Let a query wait for turns before its batches; its first one has begun, and waits later.

    `ended` is called once Spark has recorded the end of a batch.
    """
    turnstile = TurnTrigger(turn, ended)
    own_class(session, "spark.TurnClock").set(streaming._jsq, turnstile)  # noqa: SLF001 -- as in `pacing`
    return turnstile
