"""SQL that several formats share."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.core.expressions import Piece, Ref, join_pieces, quote_name, sql_literal
from millstream.core.types import TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, VARIANT, Type, types_within
from millstream.formats.format import DecodedSql, Fields, Item

VALUE = Ref("value")

BAD = "_bad"
"""The column that says what could not be decoded; NULL if all could."""
BAD_TYPE = "array<struct<column: string, reason: string>>"
"""The type of `BAD`, unless Spark's own parsers set it.

It has the bad columns, or one entry without a column for all of the value.
"""
DELETES = "_deleted"
"""The column that says that a change deletes its row, of formats whose values are changes."""

TIMES = (
    "'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'"
)
"""By default, Spark reads microseconds but only writes milliseconds."""


TEXT: tuple[Piece, ...] = ("cast(", VALUE, " as string)")


def parser_call(
    function: str, fields: Fields, options: str, text: tuple[Piece, ...] = TEXT
) -> tuple[Piece, ...]:
    """Return a parser's call as an array of one struct: in a LATERAL VIEW, a value is parsed only once.

    If the parser returns NULL, as for an empty text, the struct is that of an invalid text.
    """
    schema = ", ".join(f"{quote_name(c.name)} {c.type}" for c in fields)
    schema = sql_literal(f"{schema}, {BAD} string")
    return join_pieces(
        (
            f"array(coalesce({function}(",
            *text,
            f", {schema}, {options}), {function}('?', {schema}, {options})))",
        )
    )


def struct_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    """Return `struct(a, b + 1 as c)`."""
    pieces: list[Piece] = ["struct("]
    for index, (name, expression) in enumerate(items):
        pieces += [", "] if index else []
        pieces += expression.pieces
        match expression.pieces:
            case (Ref(column=column),) if column == name:
                pass
            case _:
                pieces.append(f" as {quote_name(name)}")
    return join_pieces((*pieces, ")"))


def has_times(type_: Type) -> bool:
    """Whether values of a type are or contain timestamps."""
    return not {TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, VARIANT}.isdisjoint(types_within(type_))


def function_call(
    name: str, fields: Fields, restored: tuple[tuple[Piece, ...], ...] = (), settings: Sequence[str] = ()
) -> DecodedSql:
    """Return the rows of one of Millstream's own functions.

    `Extensions.java` registers them, and `codecs` has the decoders.
    """
    arguments = ", ".join(sql_literal(argument) for argument in (fields_to_ddl(fields), *settings))

    def called(position: Sequence[Piece] = ()) -> tuple[Piece, ...]:
        more = [piece for part in position for piece in (", ", part)]
        return join_pieces((f"array({name}(", VALUE, f", {arguments}", *more, "))"))

    return DecodedSql(rows=called(), required=called, fields=restored)


def fields_to_ddl(fields: Fields) -> str:
    return ", ".join(f"{quote_name(c.name)} {c.type}{'' if c.nullable else ' not null'}" for c in fields)


def column_list(fields: Fields) -> str:
    return ", ".join(f"{c.name} {c.type}" for c in fields)
