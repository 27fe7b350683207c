"""Why queries that read or write tables fail: what stores have in common."""

import re

from millstream.core.known_failures import KnownFailure, first_group

TABLE_OF_PATH = r"([^/\s`'\"]+?)[`'\"./]*(?: (?:doesn't|does not) exist[^\n]*)?(?:\n|\Z| SQLSTATE)"
"""The last part of a path that a message of Spark names at its end, in a pattern."""


def missing_table(pattern: str) -> KnownFailure:
    """Return the failure of a table that is gone; the pattern's group is its name."""
    return KnownFailure(
        "MS843",
        re.compile(pattern),
        lambda match: f"a table that it reads or writes no longer exists: {first_group(match)}",
        "restore it, or build it again: `millstream build --full-refresh` removes the rows and state of the "
        "models, and starts over",
    )
