"""From text to tokens that sqlglot's Spark dialect can parse.

Two things are done to the tokens, none to the text, so that every position stays what the user wrote:
streaming constructs that the dialect does not know are taken out and noted (`FROM STREAM t`,
`WATERMARK ts DELAY OF INTERVAL 10 SECONDS`, `v:a.b`), and the name of every ordinary function call is marked,
so that sqlglot hands over the call as it was written instead of as its own normalised function.
"""

from msgspec import Struct
from sqlglot import TokenError
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokens import Token, TokenType

from millstream.sql.values import Problem

MARK = "\x00"
"""Ends the name of a function call that is to be looked up in Spark's functions, not in sqlglot's."""

SPARK = Dialect.get_or_raise("spark")

_KEYWORDS = frozenset(
    {"grouping sets"}.union(
        "and or not in is like rlike ilike regexp between case when then else end as on using over by select distinct "
        "all from join where having group order with values union except intersect minus lateral view unnest table "
        "partition within interval cast try_cast extract div cube rollup qualify limit offset tablesample pivot "
        "unpivot".split()
    )
)
"""Words before a parenthesis that call nothing, or that sqlglot must see to read what they do."""

_WITH_SYNTAX = {
    "trim": (TokenType.FROM,),
    "substring": (TokenType.FROM,),
    "substr": (TokenType.FROM,),
    "position": (TokenType.IN,),
    "overlay": (),
}
_QUERY = (TokenType.SELECT, TokenType.WITH)
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


class WatermarkClause(Struct, frozen=True):
    start: int
    """Offset of the relation's last token before the clause."""
    expression: tuple[int, int]
    delay: tuple[int, int]


class Tokens(Struct):
    tokens: list[Token]
    watermarks: list[WatermarkClause]
    variant_paths: frozenset[int]
    """Offsets of the last token of what a `:path` was taken from."""


def tokenize(sql: str) -> Tokens | Problem:
    """Read tokens, or say where a text or comment is not closed."""
    try:
        tokens = SPARK.tokenize(sql)
    except TokenError:
        start = _unclosed(sql)
        return Problem(
            "MS401", "a text, name or comment is not closed", start, start + 1, "close it with its own sign"
        )
    if len(tokens) > 1 and tokens[0].token_type == TokenType.TABLE:
        # `TABLE orders` is `SELECT * FROM orders`.
        words = ((TokenType.SELECT, "select"), (TokenType.STAR, "*"), (TokenType.FROM, "from"))
        tokens = [*(_of_type(tokens[0], kind, text) for kind, text in words), *tokens[1:]]
    watermarks: list[WatermarkClause] = []
    paths: list[int] = []
    kept: list[Token] = []
    index, size = 0, len(tokens)
    angle = 0
    while index < size:
        token = tokens[index]
        if (mistake := _stray(token, kept)) is not None:
            return mistake
        kind, following = token.token_type, tokens[index + 1] if index + 1 < size else None
        word = token.text.lower() if kind != TokenType.STRING else ""
        if kind == TokenType.LT and kept and kept[-1].text.lower() in {"struct", "array", "map"}:
            angle += 1
        elif kind == TokenType.GT and angle:
            angle -= 1
        if kind == TokenType.NUMBER and (suffixed := _with_suffix(sql, tokens, index)):
            kept.append(suffixed)
            index += 3
            continue
        if kind == TokenType.GT and not angle and _is_third_shift(kept, token):
            index += 1
            continue
        if word == "stream" and following and kept and _starts_relation(kept[-1], following):
            index += 1
            continue
        if word == "watermark" and kept and (stop := _watermark(tokens, index, kept[-1], watermarks)):
            index = stop
            continue
        if kind == TokenType.COLON and not angle and kept and (stop := _variant_path(tokens, index)):
            paths.append(kept[-1].end)
            index = stop
            continue
        if (
            not angle
            and following
            and following.token_type == TokenType.L_PAREN
            and _is_call(tokens, index, kept)
        ):
            kept.append(_renamed(token, token.text + MARK))
        elif kind in _NAME_LIKE and _is_name(kind, kept[-1] if kept else None, following):
            # As if in backquotes: sqlglot looks at the text of a plain word too.
            kept.append(_of_type(token, TokenType.IDENTIFIER, token.text))
        else:
            kept.append(token)
        index += 1
    if kept and kept[-1].token_type in _WANTING:
        return _wanting(kept[-1])
    return Tokens(kept, watermarks, frozenset(paths))


def _stray(token: Token, kept: list[Token]) -> Problem | None:
    """Find what sqlglot reads without complaint and Spark does not."""
    if token.token_type in {TokenType.L_BRACE, TokenType.R_BRACE}:
        return Problem(
            "MS401",
            f"unexpected '{token.text}'",
            token.start,
            token.end + 1,
            "Jinja stands in '{{ }}' and '{% %}', with both signs",
            token.text,
        )
    if token.token_type in {TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY} and kept:
        before = kept[-1]
        compared = before.token_type == TokenType.DISTINCT and kept[-2].token_type in {
            TokenType.IS,
            TokenType.NOT,
        }
        if before.token_type in _WANTING and not compared:
            return _wanting(before)
        if before.token_type == TokenType.COMMA:
            return Problem("MS401", "a comma too many", before.start, before.end + 1, "remove it", ",")
    return None


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


_NAME_LIKE = frozenset(
    (TokenType.WINDOW, TokenType.LIMIT, TokenType.OFFSET, TokenType.VALUES, TokenType.ANY, TokenType.INTERVAL)
)
_BEFORE_VALUE = frozenset(
    (
        TokenType.SELECT,
        TokenType.DISTINCT,
        TokenType.COMMA,
        TokenType.L_PAREN,
        TokenType.GROUP_BY,
        TokenType.ORDER_BY,
    )
)
_AFTER_NAME = frozenset(
    (
        TokenType.COMMA,
        TokenType.FROM,
        TokenType.R_PAREN,
        TokenType.ALIAS,
        TokenType.EQ,
        TokenType.GT,
        TokenType.LT,
    )
)


def _is_name(kind: TokenType, before: Token | None, following: Token | None) -> bool:
    """Tell whether a word that can begin a clause is a column's name here."""
    after = following.token_type if following else None
    starts_value = before is not None and before.token_type in _BEFORE_VALUE
    match kind:
        case TokenType.WINDOW:
            return after not in _NAMES
        case TokenType.ANY:
            return after != TokenType.L_PAREN
        case TokenType.LIMIT | TokenType.OFFSET:
            return starts_value
        case TokenType.VALUES:
            return starts_value and after not in {TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING}
        case _:
            return starts_value and (after is None or after in _AFTER_NAME)


_WANTING = frozenset(
    (TokenType.SELECT, TokenType.DISTINCT, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.WHERE)
)


def _wanting(token: Token) -> Problem:
    word = token.text.upper()
    return Problem(
        "MS401", f"nothing follows {word}", token.start, token.end + 1, "name columns after it", token.text
    )


def _of_type(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def _renamed(token: Token, text: str) -> Token:
    return _of_type(token, TokenType.VAR, text)


def _is_call(tokens: list[Token], index: int, kept: list[Token]) -> bool:
    token = tokens[index]
    word = token.text.lower()
    if token.token_type in {TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER} or word in _KEYWORDS:
        return False
    if not (word[:1].isalpha() or word[:1] == "_"):
        return False
    before = kept[-1].token_type if kept else None
    if before in {TokenType.DCOLON, TokenType.ALIAS} or (
        before == TokenType.DOT and token.token_type == TokenType.VAR
    ):
        return False
    # A CTE's column list, `with totals (a, b) as (…)`, and an alias's: `as t(a, b)`, `explode(x) t (a)`.
    if before in {TokenType.WITH, TokenType.RECURSIVE} or (
        before in {TokenType.R_PAREN, *_NAMES} and not _is_infix(kept[-1])
    ):
        return False
    if word == "filter" and before == TokenType.R_PAREN:
        return False
    inside = tokens[index + 2].token_type if index + 2 < len(tokens) else None
    if before in {TokenType.LIKE, TokenType.ILIKE} and word in {"any", "some", "all"}:
        return False
    if word == "filter" and inside == TokenType.WHERE:
        return False
    if word in {"exists", "any", "some", "all"} and inside in _QUERY:
        return False
    if word in _WITH_SYNTAX:
        return not _has_at_depth_one(
            tokens, index + 1, _WITH_SYNTAX[word], "placing" if word == "overlay" else ""
        )
    return True


def _is_infix(token: Token) -> bool:
    """Words that sqlglot reads as plain names though an expression follows them."""
    return token.text.lower() in {"div", "delay", "of", "rlike", "lateral", "outer", "view"}


def _has_at_depth_one(tokens: list[Token], opening: int, kinds: tuple[TokenType, ...], word: str) -> bool:
    depth = 0
    for token in tokens[opening:]:
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _CLOSING:
            depth -= 1
            if not depth:
                return False
        elif depth == 1 and (token.token_type in kinds or (word and token.text.lower() == word)):
            return True
    return False


def _starts_relation(before: Token, following: Token) -> bool:
    relation = following.token_type in _NAMES or following.token_type == TokenType.L_PAREN
    return relation and before.token_type in {TokenType.FROM, TokenType.JOIN, TokenType.COMMA}


def _watermark(tokens: list[Token], index: int, before: Token, found: list[WatermarkClause]) -> int | None:
    """Return the index after `WATERMARK expression DELAY OF interval`."""
    position, depth = index + 1, 0
    while position < len(tokens) and (depth or tokens[position].text.lower() != "delay"):
        depth += (tokens[position].token_type in _OPENING) - (tokens[position].token_type in _CLOSING)
        position += 1
    if position + 2 >= len(tokens) or tokens[position + 1].text.lower() != "of" or position == index + 1:
        return None
    first = position + 2
    last = first + (1 if tokens[first].token_type == TokenType.INTERVAL else 0)
    if last + 1 < len(tokens) and tokens[last + 1].token_type in {TokenType.VAR, *_UNITS}:
        last += 1
    if last >= len(tokens):
        return None
    found.append(
        WatermarkClause(
            before.start,
            (tokens[index + 1].start, tokens[position - 1].end + 1),
            (tokens[first].start, tokens[last].end + 1),
        )
    )
    return last + 1


_UNITS = tuple(
    kind
    for name in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
    if (kind := getattr(TokenType, name, None))
)


def _variant_path(tokens: list[Token], index: int) -> int | None:
    """Return the index after `:a.b[0]`."""
    position = index + 1
    if position >= len(tokens) or tokens[position].token_type not in {*_NAMES, TokenType.L_BRACKET}:
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


def _unclosed(sql: str) -> int:
    """Return where the quote or comment that never ends begins."""
    position, opened = 0, 0
    while position < len(sql):
        here = sql[position]
        closing = {"'": "'", '"': '"', "`": "`"}.get(here)
        if sql.startswith("--", position):
            closing, here = "\n", "--"
        elif sql.startswith("/*", position):
            closing, here = "*/", "/*"
        if closing is None:
            position += 1
            continue
        opened = position
        position += len(here)
        while position < len(sql) and not sql.startswith(closing, position):
            position += 2 if sql[position] == "\\" and closing in "'\"" else 1
        if position >= len(sql) and closing != "\n":
            return opened
        position += len(closing)
    return max(0, len(sql) - 1)
