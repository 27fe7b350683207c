"""Digests of what tests depend on."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from millstream import __version__
from millstream.core.encoding import to_sorted_json


def digest_values(parts: Iterable[Any]) -> str | None:
    """Return a digest of values; None if their order is not known, as of keys that are not texts."""
    hashed = blake2b(__version__.encode(), digest_size=16)
    try:
        for part in parts:
            hashed.update(to_sorted_json(part) + b"\n")
    except TypeError:
        return None
    return hashed.hexdigest()
