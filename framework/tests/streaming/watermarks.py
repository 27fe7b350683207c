"""Where the watermark of a query is, batch by batch, by Spark's rules (`test_spark_rules.py` shows them)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Times = Sequence[tuple[int, int]]
"""Batch and event time of each row that has one."""


def watermarks(batches: int, starts: Iterable[int], nodes: Sequence[tuple[Times, int]]) -> list[int]:
    """Return the watermark of each batch, and of the one after the last; `nodes` are times and delays.

    It is the least of what all columns of event time say, of which one without rows says nothing has happened.
    It never goes back. A query that is started again knows where it was, but no more which column said what:
    until each of several has had rows, it stays.
    """
    marks, current = [], 0
    news = {*starts}
    newest: list[int | None] = [None] * len(nodes)
    for batch in range(batches + 1):
        if batch > 0:
            for index, (times, delay) in enumerate(nodes):
                latest = [time - delay for of, time in times if of == batch - 1]
                if latest:
                    newest[index] = max([*latest, *(n for n in [newest[index]] if n is not None)])
            if nodes:
                current = max(current, min(n or 0 for n in newest))
        if batch in news:
            newest = [None] * len(nodes)
        marks.append(current)
    return marks
