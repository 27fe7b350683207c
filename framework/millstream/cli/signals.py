"""A request to end, from whoever runs the process."""

from __future__ import annotations

import signal
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
