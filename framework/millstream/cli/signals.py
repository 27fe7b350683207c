"""A request to end, from whoever runs the process."""

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
    """Let SIGTERM end the block as Ctrl-C does, so that whatever it started is stopped."""

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stopping_well() -> Iterator[threading.Event]:
    """Give what SIGTERM and Ctrl-C set; a second one ends the process as it would otherwise."""
    stopping = threading.Event()
    handled = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in handled}

    def ask(_number: int, _frame: FrameType | None) -> None:
        stopping.set()
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in handled:
        signal.signal(number, ask)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
