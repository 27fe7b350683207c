"""The precision of time functions, and zones whose clocks are set back."""

from __future__ import annotations

import re

from millstream.sql.durations import MICROSECONDS, duration_micros

SECOND = MICROSECONDS["second"]
DAY = MICROSECONDS["day"]
_FIXED = re.compile(r"(?:utc|gmt|z|ut|etc/.+|(?:utc|gmt|ut)?[+-]\d{1,2}(?::?\d\d)*)", re.IGNORECASE)


def interval_micros(interval: str) -> int:
    """Return the length of an interval such as `1 hour 30 minutes`; 0 if it can't be parsed."""
    micros = duration_micros(interval)
    return micros if isinstance(micros, int) else 0


def has_fixed_offset(zone: str) -> bool:
    """Return whether the clocks of a zone are never set back, so that no local time occurs twice."""
    return _FIXED.fullmatch(zone.strip()) is not None


def unit_of(word: str) -> int:
    """Return the length of a unit of `date_trunc`; 0 for those of no fixed length, such as a month."""
    folded = word.lower()
    return MICROSECONDS.get({"dd": "day", "mon": "month", "mm": "month"}.get(folded, folded), 0)


_FIELDS = ("yyyy", "MM", "dd", "HH", "mm", "ss")
_UNITS = (0, 0, DAY, 3600 * SECOND, 60 * SECOND, SECOND)
_FORMAT = re.compile(r"'[^']*'|([A-Za-z])\1*|[^A-Za-z']")


def pattern_precision(pattern: str) -> tuple[int, frozenset[str]]:
    """Return the shortest time that texts of a pattern distinguish, and the characters in these texts.

    0 means none: a part is missing or is not written in full, as in `dd HH:mm` or `yy-M-d`.
    """
    fields: set[str] = set()
    fraction = 0
    characters = set("0123456789+-")  # Spark writes years after 9999 with a sign
    position = 0
    while position < len(pattern):
        part = _FORMAT.match(pattern, position)
        if part is None:
            return 0, frozenset()
        position, text = part.end(), part[0]
        if text.startswith("'"):
            characters |= set(text[1:-1] or "'")
        elif not text[0].isalpha():
            characters.add(text)
        elif set(text) == {"S"}:
            fraction = len(text)
        elif text in _FIELDS and text not in fields:
            fields.add(text)
        else:
            return 0, frozenset()
    present = [name for name, _ in zip(_FIELDS, _UNITS, strict=True) if name in fields]
    if (
        present != list(_FIELDS[: len(present)])
        or len(present) < 3
        or (fraction and len(present) < len(_FIELDS))
    ):
        return 0, frozenset()
    unit = _UNITS[len(present) - 1]
    return (10 ** max(6 - fraction, 0) if fraction else unit), frozenset(characters)
