"""Starts Spark's Python workers on this machine so that they ignore signals to all processes of a command.

The JVM ends them when it stops: it closes this process's standard input.
"""

from __future__ import annotations

import signal
from types import FrameType, SimpleNamespace
from typing import Any

from pyspark import daemon

_IGNORED = frozenset({signal.SIGTERM, signal.SIGINT})


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing. Unlike SIG_IGN, programs that a user's function starts do not inherit this."""


def _set(number: int, handler: Any) -> Any:
    return signal.signal(number, _ignore if number in _IGNORED else handler)


def main() -> None:
    signal.signal(signal.SIGINT, _ignore)
    # PySpark's module sets handlers in the daemon, and again in each worker.
    names = {name: getattr(signal, name) for name in dir(signal)}
    vars(daemon)["signal"] = SimpleNamespace(**{**names, "signal": _set})
    daemon.manager()


if __name__ == "__main__":
    main()
