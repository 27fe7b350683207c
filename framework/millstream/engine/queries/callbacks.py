"""Lets go of the functions of `foreachBatch` once their queries have ended.

Python keeps an object that Java may call until Java has collected its side of it, and Java keeps what Python
refers to. A function of `foreachBatch` refers to its session, and the query to the function: without this,
nothing of a query that has ended is ever collected, two megabytes or more each time that one starts.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.utils import ForeachBatchFunction

Function = Callable[..., None]


class _Called(Struct, frozen=True, eq=False):
    streaming: StreamingQuery
    function: Function


_EVERY = 60.0
"""Seconds between two collections: what a query leaves in Python has cycles."""
_called: list[_Called] = []
_lock = threading.Lock()
_collected = [0.0]
"""When Python has collected last, by the monotonic clock."""


def called_by(streaming: StreamingQuery, function: Function) -> None:
    """Note the function of a query that has started, and free those of queries that have ended."""
    with _lock:
        ended = [call for call in _called if _has_ended(call.streaming)]
        _called[:] = [call for call in _called if call not in ended]
        _called.append(_Called(streaming, function))
    for call in ended:
        _let_go(call.function)
    if ended and time.monotonic() - _collected[0] > _EVERY:
        _collected[0] = time.monotonic()
        ended.clear()
        gc.collect()


def _has_ended(streaming: StreamingQuery) -> bool:
    try:
        # A query is inactive before its last call has returned.
        return not streaming.isActive and bool(streaming.awaitTermination(1))
    except (StreamingQueryException, Py4JError, OSError):
        return True


def _let_go(function: Function) -> None:
    gateway: Any = SparkContext._gateway  # noqa: SLF001 -- PySpark keeps these objects nowhere else
    pool = gateway.gateway_property.pool
    with pool.lock:
        callbacks = [
            callback for callback in pool.dict.values() if isinstance(callback, ForeachBatchFunction)
        ]
    for callback in callbacks:
        if callback.func is function:
            callback.func = callback.session = None  # type: ignore[assignment]  # it is not called any more
