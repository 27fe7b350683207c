"""How many failing rows a data test tolerates."""

from __future__ import annotations

from millstream.manifest import ManifestNode
from millstream.testing.data.result import DataTestResult


def is_tolerated(node: ManifestNode, result: DataTestResult) -> bool:
    """Tell whether no more rows fail than the test allows."""
    allowed = str((node.meta.get("arguments") or {}).get("at_most") or "0")
    if allowed.endswith("%"):
        return result.failures <= result.rows * float(allowed.removesuffix("%")) / 100
    return result.failures <= int(allowed)


def describe_tolerance(node: ManifestNode) -> str:
    """Return what a message adds to the number of failing rows."""
    allowed = (node.meta.get("arguments") or {}).get("at_most")
    return f"; at most {allowed} may fail" if allowed else ""
