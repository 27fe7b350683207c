"""Decides whether a token calls a function, names a column, or belongs to the syntax."""

from sqlglot.tokenizer_core import Token, TokenType

_SYNTAX = """
and or not in is like rlike ilike regexp between case when then else end as on using over by select
distinct all from join where having group order with values union except intersect minus lateral view
unnest table partition within interval cast try_cast extract div cube rollup qualify limit offset
tablesample pivot unpivot
"""
_PHRASES = frozenset(
    ("grouping sets", "partition by", "group by", "order by", "sort by", "distribute by", "cluster by")
)
KEYWORDS = _PHRASES | frozenset(_SYNTAX.split())
"""Words before a parenthesis that are not calls, or that sqlglot must parse itself."""

_WITH_SYNTAX = {
    "trim": (TokenType.FROM,),
    "substring": (TokenType.FROM,),
    "substr": (TokenType.FROM,),
    "position": (TokenType.IN,),
    "overlay": (),
}
"""Functions that can have words between their arguments."""

OPENING = frozenset((TokenType.L_PAREN, TokenType.L_BRACKET))
CLOSING = frozenset((TokenType.R_PAREN, TokenType.R_BRACKET))
NAMES = frozenset((TokenType.VAR, TokenType.IDENTIFIER))
NAME_LIKE = frozenset(
    (TokenType.WINDOW, TokenType.LIMIT, TokenType.OFFSET, TokenType.VALUES, TokenType.ANY, TokenType.INTERVAL)
)
"""Words that can begin a clause, or be a column's name."""

_QUERY = frozenset((TokenType.SELECT, TokenType.WITH))
_BEGINS_QUERY = frozenset((*_QUERY, TokenType.VALUES, TokenType.FROM, TokenType.TABLE, TokenType.L_PAREN))
_BEFORE_VALUE = frozenset(
    (
        TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.L_PAREN, TokenType.GROUP_BY,
        TokenType.ORDER_BY,
    )
)  # fmt: skip
_AFTER_NAME = frozenset(
    (
        TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN, TokenType.ALIAS, TokenType.EQ, TokenType.GT,
        TokenType.LT,
    )
)  # fmt: skip


def is_name(kind: TokenType, before: Token | None, following: Token | None) -> bool:
    """Return whether a word that can begin a clause is a column's name here."""
    after = following.token_type if following else None
    starts_value = before is not None and before.token_type in _BEFORE_VALUE
    match kind:
        case TokenType.WINDOW:
            return after not in NAMES
        case TokenType.ANY:
            return after != TokenType.L_PAREN
        case TokenType.LIMIT | TokenType.OFFSET:
            return starts_value
        case TokenType.VALUES:
            return starts_value and after not in {TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING}
        case _:
            return starts_value and (after is None or after in _AFTER_NAME)


def is_call(tokens: list[Token], index: int, preceding: list[Token]) -> bool:
    token = tokens[index]
    word = token.text.lower()
    if token.token_type in {TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER} or word in KEYWORDS:
        return False
    if not (word[:1].isalpha() or word[:1] == "_"):
        return False
    before = preceding[-1].token_type if preceding else None
    if before in {TokenType.DCOLON, TokenType.ALIAS} or (
        before == TokenType.DOT and token.token_type == TokenType.VAR
    ):
        return False
    # A CTE's column list, `with totals (a, b) as (…)`, and an alias's: `as t(a, b)`, `explode(x) t (a)`.
    if (
        _names_cte(tokens, index, before)
        or before in {TokenType.WITH, TokenType.RECURSIVE}
        or (before in {TokenType.R_PAREN, *NAMES} and not _is_infix(preceding[-1]))
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


def _names_cte(tokens: list[Token], index: int, before: TokenType | None) -> bool:
    """Return whether this is `b` of `with a (x) as (…), b (y) as (select …)`."""
    if before != TokenType.COMMA:
        return False
    depth = 0
    for position in range(index + 1, len(tokens) - 3):
        depth += (tokens[position].token_type in OPENING) - (tokens[position].token_type in CLOSING)
        if not depth:
            kinds = [token.token_type for token in tokens[position + 1 : position + 4]]
            # `stack(2, a, b) as (x, y)` is a call.
            return kinds[:2] == [TokenType.ALIAS, TokenType.L_PAREN] and kinds[-1] in _BEGINS_QUERY
    return False


def _is_infix(token: Token) -> bool:
    """Words that sqlglot reads as plain names though an expression follows them."""
    return token.text.lower() in {"div", "delay", "of", "rlike", "lateral", "outer", "view"}


def _has_at_depth_one(tokens: list[Token], opening: int, kinds: tuple[TokenType, ...], word: str) -> bool:
    depth = 0
    for token in tokens[opening:]:
        if token.token_type in OPENING:
            depth += 1
        elif token.token_type in CLOSING:
            depth -= 1
            if not depth:
                return False
        elif depth == 1 and (token.token_type in kinds or (word and token.text.lower() == word)):
            return True
    return False
