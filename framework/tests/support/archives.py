"""Waiting for archives of classes."""

import time


def awaited(condition):
    """Wait until a condition is true; return its value."""
    deadline = time.monotonic() + 120
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return value
