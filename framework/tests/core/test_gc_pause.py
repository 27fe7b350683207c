"""Values created during a pause of cyclic garbage collection are not searched right after it, but still later."""

import gc
import subprocess
import sys
import weakref

from millstream.core.gc_pause import collector_paused


class Cycle:
    def __init__(self):
        self.itself = self


def test_nothing_is_searched_when_a_pause_ends():
    gc.collect()
    searched = []
    gc.callbacks.append(lambda phase, _: searched.append(phase))
    try:
        with collector_paused():
            values = [[number] for number in range(20_000)]
        more = [[number] for number in range(100)]
    finally:
        gc.callbacks.pop()
    assert searched == []
    assert (len(values), len(more)) == (20_000, 100)


def test_cycles_of_a_pause_are_still_collected():
    with collector_paused():
        gone = weakref.ref(Cycle())
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_a_pause_within_a_pause_does_not_end_it():
    with collector_paused():
        with collector_paused():
            pass
        assert not gc.isenabled()


def test_what_is_frozen_stays_frozen():
    """As in a process that a warm session has forked: it shares this memory."""
    code = (
        "import gc\n"
        "from millstream.core.gc_pause import collector_paused\n"
        "gc.freeze()\n"
        "before = gc.get_freeze_count()\n"
        "with collector_paused(): pass\n"
        "assert gc.get_freeze_count() >= before > 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
