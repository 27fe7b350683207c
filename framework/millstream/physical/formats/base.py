"""What a format is: how a record's value becomes columns, and a row a record's value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from millstream.expressions import Expression, Piece, Ref, joined, quoted
from millstream.physical.emit.draft import BAD
from millstream.plan.nodes import Column
from millstream.types import TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, VARIANT, Array, Map, Row, Type

VALUE = Ref("value")


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


Named = tuple[str, Expression]


class Format(Struct, frozen=True):
    decode: Callable[[Sequence[Column]], Decoded]
    encode: Callable[[Sequence[Named]], tuple[Piece, ...]]
    """From the columns of a row, each with its name, to a value: text or bytes."""
    narrow: bool = True
    """Fields that nobody reads can be left out when decoding."""
    single: bool = False
    """A value is one column, not a row of them."""


def parsed(function: str, fields: Sequence[Column], options: str) -> tuple[Piece, ...]:
    """Return a parser's call as an array of one struct: as rows of LATERAL VIEW it is parsed once.

    What gives no struct at all, as an empty text does, gives that of a text that is certainly wrong.
    """
    schema = ", ".join(f"{quoted(c.name)} {c.type}" for c in fields)
    schema = literal(f"{schema}, {BAD} string")
    return joined(
        (
            f"array(coalesce({function}(cast(",
            VALUE,
            f" as string), {schema}, {options}), {function}('?', {schema}, {options})))",
        )
    )


def row(items: Sequence[Named]) -> tuple[Piece, ...]:
    """Return `struct(a, b + 1 as c)`."""
    pieces: list[Piece] = ["struct("]
    for index, (name, found) in enumerate(items):
        pieces += [", "] if index else []
        pieces += found.pieces
        match found.pieces:
            case (Ref(column=column),) if column == name:
                pass
            case _:
                pieces.append(f" as {quoted(name)}")
    return joined((*pieces, ")"))


def has_times(given: Type) -> bool:
    """Tell whether values of a type are, or hold, points in time."""
    match given:
        case Array(element=element):
            return has_times(element)
        case Map(key=key, value=value):
            return has_times(key) or has_times(value)
        case Row(fields=fields):
            return any(has_times(field.type) for field in fields)
        case _:
            return given in {TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, VARIANT}


def described(fields: Sequence[Column]) -> str:
    return ", ".join(f"{c.name} {c.type}" for c in fields)


def literal(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
