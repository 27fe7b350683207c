"""Mistakes that the tokens alone show, and that sqlglot would read without complaint."""

from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.values import Problem

_WANTING = frozenset(
    (TokenType.SELECT, TokenType.DISTINCT, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.WHERE)
)


def stray(token: Token, kept: list[Token]) -> Problem | None:
    """Find what sqlglot reads without complaint and Spark does not."""
    if token.token_type in {TokenType.L_BRACE, TokenType.R_BRACE}:
        return Problem(
            "MS401",
            f"unexpected '{token.text}'",
            token.start,
            token.end + 1,
            "write two braces, {{ … }}, around an expression of Jinja, and {% … %} around a statement",
            token.text,
        )
    if token.text == "|>":
        # The parser takes `select a + 1 as a from t |> where a > 1` for a WHERE of the same SELECT.
        remedy = "write it as SELECT … FROM … WHERE …"
        return Problem("MS433", "pipes are not supported", token.start, token.end + 1, remedy, "|>")
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


def _wanting(token: Token) -> Problem:
    word = token.text.upper()
    remedy = {"SELECT": "name columns after it", "WHERE": "write a condition after it, or remove it"}.get(
        word, "name columns after it, or remove it"
    )
    return Problem("MS401", f"nothing follows {word}", token.start, token.end + 1, remedy, token.text)


def unclosed(sql: str) -> int:
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


def unfinished(kept: list[Token]) -> Problem | None:
    """Find a clause at the end that nothing follows."""
    return _wanting(kept[-1]) if kept and kept[-1].token_type in _WANTING else None
