"""What is known of a relation, and what is said where nothing can be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from millstream.plan.streaming import Kind

Mode = Literal["append", "upsert", "static"]


class Traits(Struct, frozen=True):
    mode: Mode
    keys: tuple[str, ...] = ()
    """Of an upsert relation: the columns that tell its rows apart."""
    partitioned: tuple[str, ...] | None = None
    """The columns whose equal values are in one place; () is everything in one place."""
    watermarks: tuple[tuple[str, str], ...] = ()
    """Event times: column and delay."""
    below: tuple[Kind, ...] = ()
    """The steps with state, and the watermark, that its rows pass within the query that makes them."""
    spaced: tuple[Spaced, ...] = ()
    """Of an upsert relation: its times of which it is known how far apart they are."""


class Spaced(Struct, frozen=True):
    """A column of times: a window, or the start or end of one."""

    column: str
    apart: int
    """Microseconds between two that differ, at least."""
    window: bool = False


class NotIncrementalError(Exception):
    """What can't be kept up to date row by row."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


class KeyLostError(NotIncrementalError):
    """Columns of the key are not selected."""

    def __init__(self, lost: tuple[str, ...], reason: str) -> None:
        because = f"; {reason}" if reason else ""
        message = f"the key of these rows is lost: {listed(lost)}{because}"
        remedy = f"also select {listed(lost)}: a changed row replaces the one with the same key"
        super().__init__("MS511", message, remedy)
        self.lost = lost
        self.reason = reason

    def written(self, names: Mapping[str, str]) -> KeyLostError:
        """Return the same with the SQL of keys: `group by upper(kind)` gives its key a made-up name."""
        reason = re.sub(r"\bkey_\d+\b", lambda found: names.get(found[0], found[0]), self.reason)
        return KeyLostError(tuple(names.get(name, name) for name in self.lost), reason)


def appended(what: str, remedy: str, given: Traits) -> Traits:
    if given.mode == "upsert":
        newest = f"its input holds the newest row per {listed(given.keys)}"
        message = f"{what} can't read rows that change later: {newest}"
        raise NotIncrementalError("MS510", message, remedy)
    return Traits(given.mode, (), given.partitioned, given.watermarks)


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "table"
