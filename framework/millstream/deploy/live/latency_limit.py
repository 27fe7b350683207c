"""How many records the next batch of a query reads, so that what they give is stored within a given time.

A record waits for the batch that runs when it arrives, for the query's turn, and for its own batch: a batch
may take half of the time that is left besides waiting for the turn.
The work of a batch is taken to be a fixed part, for planning and committing, and a part for each record.
Single batches mislead, since Spark compiles while it warms up and others use the machine, too. So the cost
of a record comes from medians of batches of different sizes, and the fixed part from the last few batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import combinations
from statistics import median

from msgspec import Struct

FIRST = 10_000
"""Records of a topic in the first batch, of which nothing is known."""
LEAST = 100
"""A smaller limit would only add batches."""
GROWTH = 4
"""The most by which a batch grows beyond the largest of the last ones: larger ones are not measured."""
_LAST = 8
"""Batches that tell how large one has been, and how long it waits."""
_NOW = 3
"""Batches that tell how long one takes now."""
_FORGOTTEN = 100
"""Batches until a measurement of the cost of a record expires."""
_OF_WORK = 0.25
"""The least share of a batch's time for its own work, however long it waits for others."""


class ObservedBatch(Struct, frozen=True):
    """A batch that has ended."""

    records: int
    seconds: float
    """The time of its own work."""
    waited: float = 0
    """The time for which other queries' batches kept its query waiting before it began."""


class BatchSizer:
    """Chooses the sizes of a query's batches."""

    def __init__(self) -> None:
        self._last: deque[ObservedBatch] = deque(maxlen=_LAST)
        self._sizes: dict[int, _Size] = {}
        """Batches by the power of two of their records."""
        self._number = 0

    def add(self, batch: ObservedBatch) -> None:
        if not batch.records:
            return
        self._number += 1
        self._last.append(batch)
        self._sizes.setdefault(batch.records.bit_length(), _Size()).add(batch, self._number)
        oldest = self._number - _FORGOTTEN
        self._sizes = {size: recent for size, recent in self._sizes.items() if recent.number > oldest}

    def limit(self, latency: float) -> int:
        """Return how many records the next batch may read; `latency` is from a record to its result."""
        if not self._last:
            return FIRST
        per_record = self._cost_of_record()
        fixed = max(0.0, median(b.seconds - per_record * b.records for b in list(self._last)[-_NOW:]))
        half_latency = latency / 2
        work_time = max(
            half_latency - median(batch.waited for batch in self._last) / 2, half_latency * _OF_WORK
        )
        # If the fixed part alone takes too long, smaller batches would hardly be shorter, and fall behind.
        fitting = max(work_time - fixed, fixed) / per_record
        largest = max(batch.records for batch in self._last)
        return max(LEAST, min(int(fitting), max(FIRST, GROWTH * largest)))

    def _cost_of_record(self) -> float:
        slopes = [slope for slope in self._slopes() if slope > 0]
        # Its share in the whole time of a batch is more than its cost.
        most = min(batch.seconds / batch.records for batch in self._last)
        return max(min(median(slopes), most) if slopes else most, 1e-9)

    def _slopes(self) -> Iterator[float]:
        points = sorted((size.records, size.seconds) for size in self._sizes.values())
        for (small, one), (large, other) in combinations(points, 2):
            if large > 1.5 * small:
                yield (other - one) / (large - small)


class _Size:
    """The last batches of about the same size."""

    def __init__(self) -> None:
        self._batches: deque[ObservedBatch] = deque(maxlen=5)
        self.number = 0
        """Of the last one among all batches."""

    def add(self, batch: ObservedBatch, number: int) -> None:
        self._batches.append(batch)
        self.number = number

    @property
    def records(self) -> float:
        return median(batch.records for batch in self._batches)

    @property
    def seconds(self) -> float:
        return median(batch.seconds for batch in self._batches)


def shared_out(limit: int, behind: Mapping[str, int]) -> dict[str, int]:
    """Divide a limit among topics by what they have to read; the others get enough for what arrives."""
    left = sum(behind.values())
    least = max(1, limit // (2 * len(behind))) if behind else 1
    return {topic: max(least, limit * n // left) if left else limit for topic, n in behind.items()}
