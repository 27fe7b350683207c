"""The result of a data test, and how many wrong rows it tolerates."""

from __future__ import annotations

from msgspec import Struct

from millstream.compile.manifest import ManifestNode
from millstream.testing.styled_text import Line


class NotBuilt(Struct, frozen=True):
    """A relation that has not been built yet, so it can't be tested."""

    name: str


class DataTestResult(Struct, frozen=True):
    failures: int = 0
    """Rows that fail the test; 1 if the test is about an aggregate."""
    rows: int = 0
    """All rows that a test of single rows has checked."""
    message: str = ""
    lines: tuple[Line, ...] = ()


def is_tolerated(node: ManifestNode, result: DataTestResult) -> bool:
    allowed = str((node.meta.get("arguments") or {}).get("at_most") or "0")
    if allowed.endswith("%"):
        return result.failures <= result.rows * float(allowed.removesuffix("%")) / 100
    return result.failures <= int(allowed)


def describe_tolerance(node: ManifestNode) -> str:
    """Return what is added to the number of wrong rows."""
    allowed = (node.meta.get("arguments") or {}).get("at_most")
    return f", and {allowed} at most may be" if allowed else ""
