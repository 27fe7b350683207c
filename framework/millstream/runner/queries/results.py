"""The results of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from msgspec import Struct

from millstream.errors import Diagnostic
from millstream.results import Status


class Counts(Struct, frozen=True):
    """Counts of left out records: by source if they can't be decoded, by model if a function failed."""

    skipped: dict[str, int] = {}
    dead_letters: dict[str, int] = {}
    tests: dict[str, int] = {}
    """Rows that fail data tests, by the test's id."""

    def of(self, ids: Collection[str]) -> Counts:
        own = (self.skipped, self.dead_letters, self.tests)
        return Counts(*({id_: number for id_, number in each.items() if id_ in ids} for each in own))

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            *(
                dict(Counter(getattr(self, name)) + Counter(getattr(other, name)))
                for name in self.__struct_fields__
            )
        )


class Outcome(Struct, frozen=True):
    """The result of one query."""

    query: str
    status: Status
    rows: int = 0
    seconds: float = 0.0
    message: str = ""
    problem: Diagnostic | None = None
    reads: dict[str, int] = {}
    """Records read from each topic, by id of the source or model; empty if unknown."""
    counts: Counts = Counts()
    failed: dict[str, int] = {}
    """Records of a batch that did not complete, by the same ids as `reads`."""
    backfilled: dict[str, dict[str, int]] = {}
    """Records that models read again before the query started, by model, then by the same ids."""
    left_out: dict[str, Diagnostic] = {}
    """Models that failed on their own; the query ran without them."""
