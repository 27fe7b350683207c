"""What `millstream test` asks of a run of pytest."""

from __future__ import annotations

from msgspec import Struct

from millstream.testing.variants import Options


class TestRequest(Struct, frozen=True):
    options: Options = Options()
    ids: frozenset[str] | None = None
    """None: all tests, those in Python included."""
    strict: bool = False
    """A relation that has not been built is an error."""
