"""Properties of columns, and of the values of expressions over them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from millstream.core.types import UNKNOWN, Type
from millstream.plan.keys.texts import Texts


class ColumnProperties(Struct, frozen=True):
    """The properties of a column."""

    type: Type
    nullable: bool = True
    gap: int = 1
    """For times, the minimum distance between different values, in microseconds."""
    window: bool = False
    """Whether it is a window, whose start determines its end."""


class Value(Struct, frozen=True):
    """The properties of the value of an expression."""

    type: Type = UNKNOWN
    columns: frozenset[str] = frozenset()
    """The columns, in lower case, that the value determines."""
    nullable: bool = True
    texts: Texts | None = None
    """For a text, the possible texts; None for any."""
    gap: int = 1
    window: bool = False
    literal: str | int | None = None
    why: str = ""
    """Why it does not determine all columns that it reads, for a message."""


Columns = Callable[[str], ColumnProperties | None]


def lost(name: str, *values: Value) -> Value:
    name = {"+": "a sum", "-": "a difference"}.get(name, f"{name}()")
    why = next((value.why for value in values if value.why), "")
    return Value(why=why or f"{name} gives equal results for different values")


def coarse(value: Value, what: str) -> Value:
    return Value(why=value.why or f"{what} can be the same for different times")
