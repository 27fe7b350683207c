"""The SQL that several formats are written with."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.expressions import Piece, Ref, joined, literal, quoted
from millstream.formats.format import Fields, Item
from millstream.types import TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, VARIANT, Type, types_within

VALUE = Ref("value")

BAD = "_bad"
"""Of a decoded record: the text that could not be decoded, or NULL."""

TIMES = (
    "'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'"
)
"""Spark writes milliseconds only by default; what it reads by default has microseconds, too."""


def parsed(function: str, fields: Fields, options: str) -> tuple[Piece, ...]:
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


def row(items: Sequence[Item]) -> tuple[Piece, ...]:
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
    return not {TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, VARIANT}.isdisjoint(types_within(given))


def described(fields: Fields) -> str:
    return ", ".join(f"{c.name} {c.type}" for c in fields)
