"""Pauses Python's cyclic garbage collection where it finds nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause cyclic garbage collection: a compile creates a hundred thousand values and hardly any cycles.

    Afterwards, these values count as old. Otherwise, the next collection would search all of them at once.
    In a process that a warm session has forked, they stay out of collections, with what it shares with that.
    """
    enabled, frozen = gc.isenabled(), gc.get_freeze_count() > 0
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # Together, these two move all values to the oldest generation.
            gc.freeze()
            if not frozen:
                gc.unfreeze()
            gc.enable()
