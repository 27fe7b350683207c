"""What became of each query while it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from msgspec import Struct

from millstream.errors import Diagnostic
from millstream.results import FILE, ModelResult, RunResults, Status, write_results

__all__ = ["FILE", "Counts", "ModelResult", "Outcome", "RunResults", "Status", "write_results"]


class Counts(Struct, frozen=True):
    """Records left out: by source those that can't be decoded, by model those on which a function failed."""

    skipped: dict[str, int] = {}
    dead_letters: dict[str, int] = {}
    tests: dict[str, int] = {}
    """Rows that data tests found wrong, by id of the test."""

    def of(self, ids: Collection[str]) -> Counts:
        """Return those of some sources and models."""
        return Counts(
            {each: number for each, number in self.skipped.items() if each in ids},
            {each: number for each, number in self.dead_letters.items() if each in ids},
            {each: number for each, number in self.tests.items() if each in ids},
        )

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            *(
                dict(Counter(getattr(self, name)) + Counter(getattr(other, name)))
                for name in self.__struct_fields__
            )
        )


class Outcome(Struct, frozen=True):
    """What became of one query."""

    query: str
    status: Status
    rows: int = 0
    batches: int = 0
    seconds: float = 0.0
    message: str = ""
    problem: Diagnostic | None = None
    reads: dict[str, int] = {}
    """Records of each topic that it read, by id of the source or model; empty: not known."""
    counts: Counts = Counts()
    backfilled: tuple[str, ...] = ()
    """Models whose topics got more than what the query read."""
    left_out: dict[str, Diagnostic] = {}
    """Models that failed, so that the others could go on without them."""
