"""Ends commands cleanly on signals; a second signal ends the process at once.

`systemd`, `timeout` and containers may signal all processes of a command. Spark's JVM and its Python workers
ignore that (`engine/spark/jvm.py`, `worker_daemon.py`): this process decides when they stop.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def ending_well() -> Iterator[None]:
    """Let a signal end the block by an exception, so that what it started is stopped."""

    def end(number: int) -> NoReturn:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    with _handled(end):
        yield


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Let each signal do what Ctrl-C does."""

    def end(_: int) -> NoReturn:
        raise KeyboardInterrupt

    with _handled(end):
        yield


@contextmanager
def stopping_well() -> Iterator[threading.Event]:
    """Yield an event that a signal sets."""
    stopping = threading.Event()
    with _handled(lambda _: stopping.set()):
        yield stopping


@contextmanager
def _handled(first: Callable[[int], object]) -> Iterator[None]:
    """Call `first` with the first signal, and end the process with the second one."""

    def handle(number: int, _frame: FrameType | None) -> None:
        for signal_number in before:
            signal.signal(signal_number, _end_at_once)
        first(number)

    # `nohup` starts a command that ignores SIGHUP.
    before: dict[int, Any] = {
        number: handler for number in _SIGNALS if (handler := signal.getsignal(number)) is not signal.SIG_IGN
    }
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_at_once(number: int, _frame: FrameType | None) -> NoReturn:
    """End this process and its JVM as `kill -9` would: checkpoints always allow for that.

    The JVM would otherwise outlive the locks of this process, and could write what the next command writes.
    """
    if "pyspark" in sys.modules:
        from millstream.engine.spark.jvm_process import kill_jvm

        kill_jvm()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            if stream.isatty():
                stream.write(_SHOW_CURSOR)
            stream.flush()
    os._exit(128 + number)
