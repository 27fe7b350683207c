"""Converts text to tokens that sqlglot's Spark dialect can parse.

Only tokens are changed, not the text, so that every position remains that of the user's text. (1) Constructs
that the dialect does not know are removed and recorded: `FROM STREAM t`, `WATERMARK ts DELAY OF INTERVAL 10
SECONDS`, `v:a.b`. (2) The name of every ordinary function call is marked, so that sqlglot returns the call as
written instead of its own normalized function.
"""

from msgspec import Struct
from sqlglot import TokenError
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.literal_errors import bad_bytes, find_misread_literal
from millstream.sql.streaming import WatermarkClause, read_watermark, starts_relation, variant_path
from millstream.sql.syntax_errors import find_stray_token, find_unfinished_clause, start_of_unclosed
from millstream.sql.values import SqlDiagnostic
from millstream.sql.words import NAME_LIKE, is_call, is_name

MARK = "\x00"
"""Ends the name of a function call, which is then looked up in Spark's functions, not in sqlglot's."""

_NESTED = frozenset(("struct", "array", "map"))
SPARK = Dialect.get_or_raise("spark")


class Tokens(Struct):
    tokens: list[Token]
    watermarks: list[WatermarkClause]
    variant_paths: set[int]
    """Offsets of the last token before each removed `:path`."""


def tokenize_sql(sql: str) -> Tokens | SqlDiagnostic:
    """Return the tokens, or where a text or comment is not closed."""
    try:
        tokens = SPARK.tokenize(sql)
    except TokenError:
        if (bad := bad_bytes(sql)) is not None:
            return bad
        start, spanning = start_of_unclosed(sql)
        sign = "*/" if sql.startswith("/*", start) else sql[start : start + 1]
        message, remedy = "a string, name or comment is not closed", f"add {sign} at its end"
        if spanning is not None:
            # After a missing quote, each quote that opens a text closes one, up to the last.
            remedy = f"add {sql[spanning]} before the end of its line"
            return SqlDiagnostic("MS401", message, remedy, spanning, spanning + 1, noticed=start)
        return SqlDiagnostic("MS401", message, remedy, start, start + 1)
    if len(tokens) > 1 and tokens[0].token_type == TokenType.TABLE:
        # `TABLE orders` is `SELECT * FROM orders`.
        words = ((TokenType.SELECT, "select"), (TokenType.STAR, "*"), (TokenType.FROM, "from"))
        tokens = [*(_of_type(tokens[0], kind, text) for kind, text in words), *tokens[1:]]
    result = Tokens([], [], set())
    index = angle = 0
    while index < len(tokens):
        token = tokens[index]
        if (diagnostic := find_stray_token(token, result.tokens)) is not None:
            return diagnostic
        if (diagnostic := _misread(sql, tokens, index)) is not None:
            return diagnostic
        # Within the brackets of `array<struct<a: int>>`, there are no calls, shifts or paths.
        if token.token_type == TokenType.LT and result.tokens and result.tokens[-1].text.lower() in _NESTED:
            angle += 1
        elif token.token_type == TokenType.GT and angle:
            angle -= 1
        elif not angle and (stop := _special(sql, tokens, index, result)):
            index = stop
            continue
        result.tokens.append(token if angle else _marked(tokens, index, result.tokens))
        index += 1
    return find_unfinished_clause(result.tokens) or result


def _misread(sql: str, tokens: list[Token], index: int) -> SqlDiagnostic | None:
    token = _with_suffix(sql, tokens, index) if tokens[index].token_type == TokenType.NUMBER else None
    if token is not None:
        suffix = tokens[index + 2]
        token = Token(token.token_type, token.text, token.line, token.col, token.start, suffix.end)
    return find_misread_literal(sql, token or tokens[index], tokens[max(0, index - 2) : index])


def _special(sql: str, tokens: list[Token], index: int, result: Tokens) -> int | None:
    """Remove or join tokens that sqlglot would misread; return the index after them."""
    token, preceding = tokens[index], result.tokens
    match token.token_type:
        case TokenType.NUMBER if suffixed := _with_suffix(sql, tokens, index):
            preceding.append(suffixed)
            return index + 3
        case TokenType.GT if _is_third_shift(preceding, token):
            return index + 1
        case TokenType.COLON if preceding and (stop := variant_path(tokens, index)):
            result.variant_paths.add(preceding[-1].end)
            return stop
        case TokenType.VAR if preceding and index + 1 < len(tokens):
            word = token.text.lower()
            if word == "stream" and starts_relation(preceding[-1], tokens[index + 1]):
                return index + 1
            if word == "watermark":
                return read_watermark(tokens, index, preceding[-1], result.watermarks)
    return None


def _marked(tokens: list[Token], index: int, preceding: list[Token]) -> Token:
    """Mark the names of calls, and make identifiers of words that only look like syntax."""
    token, kind = tokens[index], tokens[index].token_type
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if following and following.token_type == TokenType.L_PAREN and is_call(tokens, index, preceding):
        return _of_type(token, TokenType.VAR, token.text + MARK)
    if kind in NAME_LIKE and is_name(kind, preceding[-1] if preceding else None, following):
        return _of_type(token, TokenType.IDENTIFIER, token.text)
    return token


def _is_third_shift(preceding: list[Token], token: Token) -> bool:
    """Return whether this is the last sign of `>>>`, which sqlglot reads as `>>` and an error."""
    before = preceding[-2:]
    adjacent = [t.start for t in before] == [token.start - 2, token.start - 1]
    return adjacent and all(t.token_type == TokenType.GT for t in before)


def _with_suffix(sql: str, tokens: list[Token], index: int) -> Token | None:
    """Return `100L` as one number; the tokenizer returns `100::bigint`."""
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
