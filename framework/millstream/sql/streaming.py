"""Finds streaming constructs, which sqlglot's dialect does not know, among the tokens."""

from msgspec import Struct
from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.words import CLOSING, NAMES, OPENING


class WatermarkClause(Struct, frozen=True):
    start: int
    """Offset of the relation's last token before the clause."""
    expression: tuple[int, int]
    delay: tuple[int, int]


_UNITS = tuple(
    kind
    for name in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
    if (kind := getattr(TokenType, name, None))
)


def starts_relation(before: Token, following: Token) -> bool:
    relation = following.token_type in NAMES or following.token_type == TokenType.L_PAREN
    return relation and before.token_type in {TokenType.FROM, TokenType.JOIN, TokenType.COMMA}


def read_watermark(
    tokens: list[Token], index: int, before: Token, clauses: list[WatermarkClause]
) -> int | None:
    """Return the index after `WATERMARK expression DELAY OF interval`."""
    position, depth = index + 1, 0
    while position < len(tokens) and (depth or tokens[position].text.lower() != "delay"):
        depth += (tokens[position].token_type in OPENING) - (tokens[position].token_type in CLOSING)
        position += 1
    if position + 2 >= len(tokens) or tokens[position + 1].text.lower() != "of" or position == index + 1:
        return None
    first = position + 2
    last = first + (1 if tokens[first].token_type == TokenType.INTERVAL else 0)
    if last + 1 < len(tokens) and tokens[last + 1].token_type in {TokenType.VAR, *_UNITS}:
        last += 1
    if last >= len(tokens):
        return None
    expression = (tokens[index + 1].start, tokens[position - 1].end + 1)
    clauses.append(WatermarkClause(before.start, expression, (tokens[first].start, tokens[last].end + 1)))
    return last + 1


def variant_path(tokens: list[Token], index: int) -> int | None:
    """Return the index after `:a.b[0]`."""
    position = index + 1
    if position >= len(tokens) or tokens[position].token_type not in {*NAMES, TokenType.L_BRACKET}:
        return None
    if tokens[position].token_type != TokenType.L_BRACKET:
        position += 1
    while position < len(tokens):
        kind = tokens[position].token_type
        if kind == TokenType.DOT:
            position += 2
        elif kind == TokenType.L_BRACKET:
            while position < len(tokens) and tokens[position].token_type != TokenType.R_BRACKET:
                position += 1
            position += 1
        else:
            break
    return position
