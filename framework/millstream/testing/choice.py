"""What `millstream test` wants of all tests of a project."""

from __future__ import annotations

from millstream.tested import ModelCoverage, TestResult
from millstream.testing.bed import Options


class Choice:
    """Says what is wanted, and is told what became of it."""

    def __init__(self, options: Options, ids: frozenset[str] | None, *, strict: bool = False) -> None:
        self.options = options
        self.ids = ids
        """None: all, those in Python, too."""
        self.strict = strict
        """What has not been built is an error."""
        self.results: list[TestResult] = []
        self.coverage: tuple[ModelCoverage, ...] = ()
