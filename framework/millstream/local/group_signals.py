"""Lets a child process ignore signals to its process group."""

from __future__ import annotations

import signal


def ignore_group_signals() -> None:
    """Let a JVM ignore signals to its process group: it stops when this process tells it to, or ends.

    Java handles no signal that its process ignored from the start (HotSpot's JVM_RegisterSignal).
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
