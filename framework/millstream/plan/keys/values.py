"""Properties of columns, and of the values of expressions over them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from millstream.core.types import UNKNOWN, Type
from millstream.plan.keys.texts import TextSet


class ColumnProperties(Struct, frozen=True):
    """The properties of a column."""

    type: Type
    nullable: bool = True
    gap: int = 1
    """For times, the minimum distance between different values, in microseconds."""
    window: bool = False
    """Whether it is a window, whose start determines its end."""


class ValueFacts(Struct, frozen=True):
    """The properties of the value of an expression."""

    type: Type = UNKNOWN
    columns: frozenset[str] = frozenset()
    """The columns, in lower case, that the value determines."""
    nullable: bool = True
    texts: TextSet | None = None
    """For a text, the possible texts; None for any."""
    gap: int = 1
    window: bool = False
    literal: str | int | None = None
    why: str = ""
    """Why it does not determine all columns that it reads, for a message."""


Columns = Callable[[str], ColumnProperties | None]


def lost_value(name: str, *values: ValueFacts) -> ValueFacts:
    name = {"+": "a sum", "-": "a difference"}.get(name, f"{name}()")
    why = next((value.why for value in values if value.why), "")
    return ValueFacts(why=why or f"{name} gives equal results for different values")


def coarse_time(value: ValueFacts, what: str) -> ValueFacts:
    return ValueFacts(why=value.why or f"{what} can be the same for different times")
