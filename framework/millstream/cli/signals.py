"""Ends commands cleanly on SIGTERM and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

TERMINATED = 128 + signal.SIGTERM


@contextmanager
def ending_well() -> Iterator[None]:
    """Let SIGTERM end the block by an exception, as Ctrl-C does, so that what it started is stopped."""

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stopping_well() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM or Ctrl-C sets; a second signal has its usual effect."""
    stopping = threading.Event()
    handled = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in handled}

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in handled:
        signal.signal(number, stop)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
