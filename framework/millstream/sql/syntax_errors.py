"""Finds syntax errors that sqlglot accepts, in the tokens."""

from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.values import SqlDiagnostic

_NEED_CONTENT = frozenset(
    (
        TokenType.SELECT,
        TokenType.DISTINCT,
        TokenType.GROUP_BY,
        TokenType.ORDER_BY,
        TokenType.WHERE,
        TokenType.ON,
        TokenType.USING,
    )
)


_BEFORE_ITEMS = frozenset(
    (
        TokenType.COMMA, TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.SELECT, TokenType.GROUP_BY,
        TokenType.ORDER_BY,
    )
)  # fmt: skip
_AFTER_ITEMS = frozenset(
    (
        TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY,
        TokenType.ORDER_BY, TokenType.HAVING, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT,
    )
)  # fmt: skip


def find_stray_token(token: Token, preceding: list[Token]) -> SqlDiagnostic | None:
    """Return the error of a token that sqlglot accepts and Spark does not."""
    if token.token_type in {TokenType.L_BRACE, TokenType.R_BRACE}:
        message = f"unexpected '{token.text}'"
        remedy = "write {{ … }} around a Jinja expression, and {% … %} around a statement"
        return SqlDiagnostic("MS401", message, remedy, token.start, token.end + 1, token.text)
    if token.text == "|>":
        # The parser reads `select a + 1 as a from t |> where a > 1` as a WHERE of the same SELECT.
        remedy = "write it as SELECT … FROM … WHERE …"
        return SqlDiagnostic("MS433", "pipes are not supported", remedy, token.start, token.end + 1, "|>")
    if token.token_type in {TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY} and preceding:
        before = preceding[-1]
        compared = before.token_type == TokenType.DISTINCT and preceding[-2].token_type in {
            TokenType.IS,
            TokenType.NOT,
        }
        if before.token_type in _NEED_CONTENT and not compared:
            return _nothing_follows(before)
    if preceding and token.token_type == TokenType.COMMA and preceding[-1].token_type in _BEFORE_ITEMS:
        return _unexpected_comma(token)
    if preceding and preceding[-1].token_type == TokenType.COMMA and token.token_type in _AFTER_ITEMS:
        return _unexpected_comma(preceding[-1])
    if token.token_type == TokenType.R_PAREN and len(preceding) > 1:
        word, opening = preceding[-2:]
        if opening.token_type == TokenType.L_PAREN and word.token_type in {TokenType.IN, TokenType.EXCEPT}:
            message = f"{word.text.upper()} () is empty"
            remedy = "write the values or columns in parentheses, or remove it"
            return SqlDiagnostic("MS401", message, remedy, word.start, token.end + 1, word.text)
    return None


def _unexpected_comma(comma: Token) -> SqlDiagnostic:
    return SqlDiagnostic("MS401", "unexpected comma", "remove it", comma.start, comma.end + 1, ",")


def _nothing_follows(token: Token) -> SqlDiagnostic:
    word = token.text.upper()
    remedy = {
        "SELECT": "name columns after it",
        "WHERE": "write a condition after it, or remove it",
        "ON": "write a condition after it",
        "IN": "write the values after it, in parentheses",
    }.get(word, "name columns after it, or remove it")
    return SqlDiagnostic("MS401", f"nothing follows {word}", remedy, token.start, token.end + 1, token.text)


_QUOTES = frozenset(("'", '"', "`"))


def start_of_unclosed(sql: str) -> tuple[int, int | None]:
    """Return where the unclosed quote or comment begins, and the first text before it that spans lines."""
    position, opened = 0, 0
    spanning: int | None = None
    while position < len(sql):
        here = sql[position]
        closing: str | None = here if here in _QUOTES else None
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
            return opened, spanning if closing != "*/" else None
        if spanning is None and closing in _QUOTES and "\n" in sql[opened:position]:
            spanning = opened
        position += len(closing)
    return max(0, len(sql) - 1), None


def find_unfinished_clause(tokens: list[Token]) -> SqlDiagnostic | None:
    """Return the error of an empty clause at the end."""
    last = tokens[-1].token_type if tokens else None
    if last == TokenType.COMMA:
        return _unexpected_comma(tokens[-1])
    return _nothing_follows(tokens[-1]) if last in _NEED_CONTENT or last == TokenType.IN else None
