"""Numbers of bytes in words, in the same units everywhere: a MB is a million bytes."""

from __future__ import annotations

import re

_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
_SPARKS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_OF_SPARK = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)


def size_in_words(number: int) -> str:
    """Return a number of bytes in words: `1.5 MB`."""
    for unit, factor in _UNITS:
        # 999,960 bytes would be shown as 1,000.0 kB.
        if number >= factor - factor // 20_000:
            return f"{number / factor:,.1f}".removesuffix(".0") + f" {unit}"
    return "1 byte" if number == 1 else f"{number:,} bytes"


def bytes_of(size: str) -> int:
    """Return the number of bytes of `512 MB`, or of `512m` as Spark reads it: m is 2 to the 20th."""
    text = size.lower().replace(" ", "")
    if text.endswith("b"):
        units = {unit.lower(): factor for unit, factor in _UNITS}
        return int(text[:-2]) * units[text[-2:]]
    count = sparks_bytes_of(text)
    assert count is not None, f"{size} is not a size"
    return count


def sparks_bytes_of(size: str) -> int | None:
    """Return the number of bytes of `2g` in a setting of Spark; None if it is not a size."""
    match = _OF_SPARK.fullmatch(size.strip())
    return int(match[1]) * _SPARKS[match[2].lower()] if match else None
