"""What `millstream test` requests from a run of pytest."""

from __future__ import annotations

from msgspec import Struct

from millstream.testing.variants import Options


class TestRequest(Struct, frozen=True):
    options: Options = Options()
    ids: frozenset[str] | None = None
    """The tests to run; None: all, including those in Python."""
    strict: bool = False
    """Relations that have not been built are errors."""
