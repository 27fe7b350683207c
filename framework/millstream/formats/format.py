"""What a format is: all that Millstream knows of it, for Spark and without Spark."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from msgspec import Struct

from millstream.expressions import Expression, Piece
from millstream.types import Field, Type

Fields = Sequence[Field]
"""What a value holds: names and types, in order."""
Item = tuple[str, Expression]
"""A column of a row, by its name."""


class Decoded(Struct, frozen=True):
    """SQL over the raw columns of a topic."""

    rows: tuple[Piece, ...] = ()
    """An array with one struct of all fields, and `_bad`; empty where `fields` says it all."""
    fields: tuple[tuple[Piece, ...], ...] = ()
    """One expression a field, over `rows` if there are any; an empty one is the field as it is there."""
    bad: tuple[Piece, ...] = ()
    """Without `rows`: the condition under which a value can't be decoded."""
    why: str = ""
    """Of a value that can't be decoded, in words."""


class SparkCodec(Struct, frozen=True):
    """What Spark does, as pieces of SQL."""

    decode: Callable[[Fields], Decoded]
    encode: Callable[[Sequence[Item]], tuple[Piece, ...]]
    """From the columns of a row to a value: text or bytes."""


class LocalCodec(Struct, frozen=True):
    """What Python does in `produce`, `consume` and unit tests: the same as Spark, in both directions."""

    decode: Callable[[bytes, Fields], Any]
    encode: Callable[[Any, Fields], bytes]


def _never(_: Type) -> bool:
    return False


class Format(Struct, frozen=True, kw_only=True):
    media_type: str
    spark: SparkCodec
    local: LocalCodec
    single: bool = False
    """A value is one column, not a row of them."""
    columns: Fields = ()
    """What a value holds where the project declares no columns."""
    round_trips: Callable[[Type], bool] = _never
    """Whether a value of a type reads back as it was written."""
    by_position: bool = False
    """Fields have no names in a value: their order matters, and none can be left out when decoding."""
    omits_null: bool = False
    """A field that is NULL is left out of a value."""
    escape: str = ""
    """Texts stand in a value as they are, but for letters after this character; empty: they may not."""
    jars: tuple[str, ...] = ()
    """The features of the catalog of jars that Spark needs for it."""

    def value_columns(self, names: Sequence[str], keys: Container[str]) -> tuple[str, ...]:
        """Return the columns of a row that its value holds: if single, the first that is not a key."""
        if not self.single:
            return tuple(names)
        return tuple([name for name in names if name not in keys][:1] or names[:1])
