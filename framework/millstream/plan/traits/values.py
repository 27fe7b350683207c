"""Traits as values, and the errors of deriving them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.streaming import Kind

Mode = Literal["append", "upsert", "static"]


class Traits(Struct, frozen=True):
    mode: Mode
    keys: tuple[str, ...] = ()
    """For an upsert relation, the columns that identify its rows."""
    partitioned: tuple[str, ...] | None = None
    """The columns whose equal values are in one partition; () if all rows are in one partition."""
    watermarks: tuple[tuple[str, str], ...] = ()
    """Event times: column and delay."""
    below: tuple[Kind, ...] = ()
    """The stateful steps, and the watermark, that its rows pass within their query."""
    spacings: tuple[Spacing, ...] = ()
    """For an upsert relation, its times with a known minimum distance."""
    changes_by_itself: tuple[str, NodeId] | None = None
    """For rows at rest and changes of a table: a function that gives other rows each time, and the id of the
    model that calls it."""
    looks_up: NodeId = NO_NODE
    """For rows at rest: a table that they are read from, whose changes change them, if there is one."""


class Spacing(Struct, frozen=True):
    """A column of times: a window, or the start or end of one."""

    column: str
    gap: int
    """The minimum distance between different values, in microseconds."""
    window: bool = False


class NotIncrementalError(Exception):
    """A step that can't be maintained over a stream."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


class KeyLostError(NotIncrementalError):
    """Columns of the key are not selected."""

    def __init__(self, lost: tuple[str, ...], reason: str) -> None:
        because = f"; {reason}" if reason else ""
        message = f"the key of these rows is lost: {key_text(lost)}{because}"
        remedy = f"also select {key_text(lost)}: a changed row replaces the one with the same key"
        super().__init__("MS511", message, remedy)
        self.lost = lost
        self.reason = reason

    def written(self, names: Mapping[str, str]) -> KeyLostError:
        """Return the same error with the SQL of keys, since `group by upper(kind)` has a generated name."""
        reason = re.sub(r"\bkey_\d+\b", lambda match: names.get(match[0], match[0]), self.reason)
        return KeyLostError(tuple(names.get(name, name) for name in self.lost), reason)


def require_append(what: str, remedy: str, input_traits: Traits) -> Traits:
    if input_traits.mode == "upsert":
        newest = f"its input has the newest row per {key_text(input_traits.keys)}"
        message = f"{what} can't read rows that change later: {newest}"
        raise NotIncrementalError("MS510", message, remedy)
    return Traits(input_traits.mode, (), input_traits.partitioned, input_traits.watermarks)


def key_text(names: Iterable[str]) -> str:
    return ", ".join(names) or "table"
