"""What is known of columns and of the values of expressions over them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from millstream.plan.keys.texts import Texts
from millstream.types import UNKNOWN, Type


class Known(Struct, frozen=True):
    """What is known of a column."""

    type: Type
    nullable: bool = True
    apart: int = 1
    """Of times: microseconds between two that differ, at least."""
    window: bool = False
    """It is a window, whose start tells its end."""


class Value(Struct, frozen=True):
    """What is known of the value of an expression."""

    type: Type = UNKNOWN
    columns: frozenset[str] = frozenset()
    """The columns, in lower case, that differ only if the value does."""
    nullable: bool = True
    texts: Texts | None = None
    """Of a text: which ones there are; None for any."""
    apart: int = 1
    window: bool = False
    literal: str | int | None = None
    why: str = ""
    """Why it does not stand for all columns that it reads; for a message."""


Columns = Callable[[str], Known | None]


def lost(name: str, *values: Value) -> Value:
    name = {"+": "a sum", "-": "a difference"}.get(name, f"{name}()")
    why = next((value.why for value in values if value.why), "")
    return Value(why=why or f"{name} gives equal results for different values")


def coarse(value: Value, what: str) -> Value:
    return Value(why=value.why or f"{what} can be the same for different times")
