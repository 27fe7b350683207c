"""Digests of what tests depend on."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from millstream import __version__


def digest_values(parts: Iterable[Any]) -> str | None:
    """Return a digest of values; None if their order is not known, as of keys that are not texts."""
    hashed = blake2b(__version__.encode(), digest_size=16)
    try:
        for part in parts:
            hashed.update(msgspec.json.encode(part, order="deterministic") + b"\n")
    except TypeError:
        return None
    return hashed.hexdigest()
