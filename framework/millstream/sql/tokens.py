"""From text to tokens that sqlglot's Spark dialect can parse.

Two things are done to the tokens, none to the text, so that every position stays what the user wrote:
streaming constructs that the dialect does not know are taken out and noted (`FROM STREAM t`,
`WATERMARK ts DELAY OF INTERVAL 10 SECONDS`, `v:a.b`), and the name of every ordinary function call is marked,
so that sqlglot hands over the call as it was written instead of as its own normalised function.
"""

from msgspec import Struct
from sqlglot import TokenError
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.literal_mistakes import bad_bytes, misread
from millstream.sql.mistakes import stray, unclosed, unfinished
from millstream.sql.streaming import WatermarkClause, starts_relation, variant_path, watermark
from millstream.sql.values import Problem
from millstream.sql.words import NAME_LIKE, is_call, is_name

MARK = "\x00"
"""Ends the name of a function call that is to be looked up in Spark's functions, not in sqlglot's."""

_NESTED = frozenset(("struct", "array", "map"))
SPARK = Dialect.get_or_raise("spark")


class Tokens(Struct):
    tokens: list[Token]
    watermarks: list[WatermarkClause]
    variant_paths: set[int]
    """Offsets of the last token of what a `:path` was taken from."""


def tokenize(sql: str) -> Tokens | Problem:
    """Read tokens, or say where a text or comment is not closed."""
    try:
        tokens = SPARK.tokenize(sql)
    except TokenError:
        if (bad := bad_bytes(sql)) is not None:
            return bad
        start = unclosed(sql)
        sign = "*/" if sql.startswith("/*", start) else sql[start : start + 1]
        message, remedy = "a text, name or comment is not closed", f"write {sign} where it ends"
        return Problem("MS401", message, start, start + 1, remedy)
    if len(tokens) > 1 and tokens[0].token_type == TokenType.TABLE:
        # `TABLE orders` is `SELECT * FROM orders`.
        words = ((TokenType.SELECT, "select"), (TokenType.STAR, "*"), (TokenType.FROM, "from"))
        tokens = [*(_of_type(tokens[0], kind, text) for kind, text in words), *tokens[1:]]
    found = Tokens([], [], set())
    index = angle = 0
    while index < len(tokens):
        token = tokens[index]
        if (mistake := stray(token, found.tokens)) is not None:
            return mistake
        if (mistake := _misread(sql, tokens, index)) is not None:
            return mistake
        # Between the brackets of `array<struct<a: int>>` nothing is a call, a shift or a path.
        if token.token_type == TokenType.LT and found.tokens and found.tokens[-1].text.lower() in _NESTED:
            angle += 1
        elif token.token_type == TokenType.GT and angle:
            angle -= 1
        elif not angle and (stop := _special(sql, tokens, index, found)):
            index = stop
            continue
        found.tokens.append(token if angle else _marked(tokens, index, found.tokens))
        index += 1
    return unfinished(found.tokens) or found


def _misread(sql: str, tokens: list[Token], index: int) -> Problem | None:
    token = _with_suffix(sql, tokens, index) if tokens[index].token_type == TokenType.NUMBER else None
    if token is not None:
        suffix = tokens[index + 2]
        token = Token(token.token_type, token.text, token.line, token.col, token.start, suffix.end)
    return misread(sql, token or tokens[index], tokens[:index][-2:])


def _special(sql: str, tokens: list[Token], index: int, found: Tokens) -> int | None:
    """Take out or join what sqlglot would misread; return the index after it."""
    token, kept = tokens[index], found.tokens
    match token.token_type:
        case TokenType.NUMBER if suffixed := _with_suffix(sql, tokens, index):
            kept.append(suffixed)
            return index + 3
        case TokenType.GT if _is_third_shift(kept, token):
            return index + 1
        case TokenType.COLON if kept and (stop := variant_path(tokens, index)):
            found.variant_paths.add(kept[-1].end)
            return stop
        case TokenType.VAR if kept and index + 1 < len(tokens):
            word = token.text.lower()
            if word == "stream" and starts_relation(kept[-1], tokens[index + 1]):
                return index + 1
            if word == "watermark":
                return watermark(tokens, index, kept[-1], found.watermarks)
    return None


def _marked(tokens: list[Token], index: int, kept: list[Token]) -> Token:
    """Mark what is called, and put in backquotes, as it were, what only looks like syntax."""
    token, kind = tokens[index], tokens[index].token_type
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if following and following.token_type == TokenType.L_PAREN and is_call(tokens, index, kept):
        return _of_type(token, TokenType.VAR, token.text + MARK)
    if kind in NAME_LIKE and is_name(kind, kept[-1] if kept else None, following):
        return _of_type(token, TokenType.IDENTIFIER, token.text)
    return token


def _is_third_shift(kept: list[Token], token: Token) -> bool:
    """Tell whether this is the last sign of `>>>`, which sqlglot reads as `>>` and something wrong."""
    before = kept[-2:]
    adjacent = [t.start for t in before] == [token.start - 2, token.start - 1]
    return adjacent and all(t.token_type == TokenType.GT for t in before)


def _with_suffix(sql: str, tokens: list[Token], index: int) -> Token | None:
    """Return `100L` as one number: the tokenizer makes `100::bigint` of it."""
    number = tokens[index]
    if (
        index + 2 >= len(tokens)
        or tokens[index + 1].token_type != TokenType.DCOLON
        or sql[number.end + 1 : number.end + 2] == ":"
    ):
        return None
    text = sql[number.start : number.end + 1]
    return _of_type(number, TokenType.NUMBER, text)


def _of_type(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)
