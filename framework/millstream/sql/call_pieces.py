"""The pieces of an expression word by word, for rules that rewrite a call where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.errors import TokenError

from millstream.core.expressions import Expression, Piece, join_pieces, render_sql
from millstream.core.types import UNKNOWN
from millstream.sql.tokens import SPARK

_OPENING, _CLOSING = ("(", "["), (")", "]")


def split_pieces(expression: Expression) -> list[Piece]:
    """Return the words, texts, signs and spaces of an expression, and its columns, each as one piece."""
    pieces: list[Piece] = []
    for piece in expression.pieces:
        pieces += split_sql(piece) if isinstance(piece, str) else [piece]
    return pieces


def split_sql(sql: str) -> list[str]:
    """Return the words, texts, signs and spaces of SQL, each as written."""
    try:
        tokens = SPARK.tokenize(sql)
    except TokenError:
        return [sql]
    parts: list[str] = []
    position = 0
    for token in tokens:
        if token.start < position:
            continue  # the second half of `100L`, which sqlglot reads as `100::bigint`
        parts += [sql[position : token.start], sql[token.start : token.end + 1]]
        position = token.end + 1
    return [part for part in (*parts, sql[position:]) if part]


def call_arguments(call: Expression) -> tuple[tuple[Piece, ...], ...]:
    """Return the pieces of each argument of an expression that is just a call, without DISTINCT or ALL."""
    pieces = split_pieces(call)
    inside = pieces[pieces.index("(") + 1 : -1]
    if inside and str(inside[0]).lower() in {"distinct", "all"}:
        inside = inside[1:]
    arguments: list[list[Piece]] = [[]]
    depth = 0
    for piece in inside:
        depth += (piece in _OPENING) - (piece in _CLOSING)
        if piece == "," and not depth:
            arguments.append([])
        else:
            arguments[-1].append(piece)
    return tuple(_stripped(argument) for argument in arguments)


def pieces_text(pieces: Sequence[Piece]) -> str:
    """Return pieces as readable SQL."""
    return render_sql(Expression(tuple(pieces), UNKNOWN))


def _stripped(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Return pieces without spaces at both ends."""
    while pieces and _is_space(pieces[0]):
        pieces = pieces[1:]
    while pieces and _is_space(pieces[-1]):
        pieces = pieces[:-1]
    return join_pieces(pieces)


def _is_space(piece: Piece) -> bool:
    return isinstance(piece, str) and piece.isspace()
