"""The evaluated type, nullability and lineage of expressions."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from millstream.core.types import Type
from millstream.sql.casts import makes_nulls
from millstream.sql.scope import NOTHING, ConstantText, as_kind
from millstream.sql.values import Source


class Value(Struct, gc=False):
    """The type, nullability and lineage of one expression."""

    type: Type
    nullable: bool
    sources: frozenset[Source] = NOTHING
    literal: Any = None
    """The value of a literal; for an interval, its kind: days, time or months."""
    aggregate: bool = False
    texts: tuple[ConstantText, ...] = ()
    """If it is always one of some constant texts (or NULL): those."""


def computed_value(
    type_: Type, values: list[Value], *, nullable: bool | None = None, aggregate: bool = False
) -> Value:
    """Return a value that is computed from others."""
    sources: frozenset[Source] = NOTHING
    for value in values:
        if value.sources:
            more = as_kind(value.sources, "computed")
            sources = sources | more if sources else more
    return Value(
        type_,
        any(value.nullable for value in values) if nullable is None else nullable,
        sources,
        None,
        aggregate or any(value.aggregate for value in values),
    )


def nullable_as(value: Value, target: Type) -> bool:
    """Return whether a value can be NULL once Spark has cast it to a type."""
    return value.nullable or makes_nulls(value.type, target)


def merge_lineage(values: list[Value]) -> frozenset[Source]:
    """Return the lineage of all values."""
    return frozenset().union(*(value.sources for value in values))
