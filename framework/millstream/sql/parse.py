"""Parses text to one syntax tree, or to the locations of syntax errors."""

import logging
from bisect import bisect_right

from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.core.errors import did_you_mean, looks_like
from millstream.core.text import FileText
from millstream.core.type_names import type_remedy
from millstream.sql.clauses import NotSplitError
from millstream.sql.tokens import MARK, SPARK, Tokens, tokenize_sql
from millstream.sql.values import SqlDiagnostic
from millstream.sql.words import CLOSING, KEYWORDS, NAMES, OPENING

_VALUES = NAMES | CLOSING | {TokenType.NUMBER, TokenType.STRING, TokenType.NULL, TokenType.END}
"""Tokens that end a value."""
_CLAUSES = frozenset(
    (TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING)
)

# sqlglot logs what it does not support and returns a Command; here, that is an error with a location.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


_OUTER_CLAUSES = ("alias", "with_", "order", "limit", "offset")
"""Clauses that can follow a query in parentheses."""
_LONGEST = 60
"""Characters shown of a token: a text can be as long as a file."""


class Parsed(Struct):
    tree: exp.Expr
    tokens: Tokens


def parse_sql(sql: str) -> Parsed | tuple[SqlDiagnostic, ...]:
    tokens = tokenize_sql(sql)
    if isinstance(tokens, SqlDiagnostic):
        return (tokens,)
    if not tokens.tokens:
        return (SqlDiagnostic("MS410", "the SQL is empty", "write a SELECT", 0, 1),)
    try:
        trees = SPARK.parser().parse(_numbered(tokens.tokens), sql)
    except ParseError as error:
        return tuple(_syntax_problems(error, sql, tokens.tokens))
    except RecursionError:
        return (SqlDiagnostic("MS401", "the SQL is nested too deeply", "split it into several models", 0, 1),)
    statements = [tree for tree in trees if tree is not None]
    ends = [token for token in tokens.tokens if token.token_type == TokenType.SEMICOLON]
    if len(statements) != 1 or ends:
        extra = ends[0] if ends else tokens.tokens[-1]
        remedy = "remove the ';' and everything after it"
        return (SqlDiagnostic("MS410", "a model is one query", remedy, extra.start, extra.end + 1),)
    tree = statements[0]
    while isinstance(tree, exp.Subquery) and not any(tree.args.get(part) for part in _OUTER_CLAUSES):
        tree = tree.this
    if not isinstance(tree, exp.Query | exp.Values | exp.Table):
        first = tokens.tokens[0]
        message = f"a model is a SELECT, not {first.text.upper()}"
        return (SqlDiagnostic("MS410", message, "write a SELECT", first.start, first.end + 1),)
    return Parsed(tree, tokens)


def _numbered(tokens: list[Token]) -> list[Token]:
    """Add to each SELECT the index of its keyword as a comment, which the parser preserves."""
    return [
        Token(t.token_type, t.text, t.line, t.col, t.start, t.end, [f"{MARK}{index}"])
        if t.token_type == TokenType.SELECT
        else t
        for index, t in enumerate(tokens)
    ]


def select_token(node: exp.Select) -> int:
    """Return the token index of a SELECT's keyword."""
    comment = next((text for text in node.comments or () if text.startswith(MARK)), None)
    if comment is None:
        raise NotSplitError("a SELECT without a position in the SQL")
    return int(comment.removeprefix(MARK))


def _syntax_problems(error: ParseError, sql: str, tokens: list[Token]) -> list[SqlDiagnostic]:
    """Report where parsing stopped; later errors are guesswork."""
    text = FileText("", sql)
    diagnostics = []
    for details in error.errors[:1]:
        highlight = str(details.get("highlight") or "")
        stop = text.offset(int(details.get("line") or 1), int(details.get("col") or 1)) + 1
        start = max(0, stop - len(highlight))
        message = _in_plain_words(str(details.get("description") or ""), highlight)
        if message == "expected TYPE after CAST":
            hint = type_remedy(highlight, "use a type of Spark SQL")
            diagnostics.append(
                SqlDiagnostic("MS407", f"unknown type '{highlight}'", hint, start, stop, highlight)
            )
            continue
        token, before = unexpected_token(tokens, start)
        if message.startswith("unexpected"):
            name = token.text.removesuffix(MARK)
            start, stop, highlight = token.start, token.end + 1, name
            message = f"unexpected '{_shown(name)}'"
        remedy = "check for a missing comma, parenthesis or keyword before it"
        if (alike := word_like_keyword(tokens, start)) is not None:
            diagnostics.append(alike)
            continue
        opened = opened_before(tokens, start) if message.startswith("expected") else ()
        diagnostics.append(
            SqlDiagnostic("MS401", message, remedy, start, stop, highlight, before=before, opened=opened)
        )
    return diagnostics


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _in_plain_words(description: str, highlight: str) -> str:
    """Return a message without sqlglot's own classes and tokens."""
    highlight = _shown(highlight)
    description = description.partition(" but got ")[0].rstrip(".")
    if description.startswith("Required keyword"):
        return f"something is missing around '{highlight}'"
    if not description or "Unexpected token" in description:
        return f"unexpected '{highlight}'"
    if description.startswith("Expecting"):
        return f"expected '{description.removeprefix('Expecting').strip()}' before '{highlight}'"
    return description[0].lower() + description[1:]


def unexpected_token(tokens: list[Token], stop: int) -> tuple[Token, int | None]:
    """Return the unexpected token and where the one before it ends; the parser stopped at `stop`.

    In `select a b.c` and `select a f(b)`, the parser takes `b` and `f` for the alias of `a`.
    """
    index = first = max(0, bisect_right(tokens, stop, key=lambda token: token.start) - 1)
    if index > 1 and tokens[index].text in {"(", "."} and _follows_value(tokens, index - 1):
        first -= 1
        index -= _in_select(tokens, first)
    return tokens[index], tokens[first - 1].end if first else None


def opened_before(tokens: list[Token], stop: int) -> tuple[tuple[int, int | None], ...]:
    """Return the innermost parenthesis or bracket that is still open at `stop`, and those within it.

    Each with where it is closed. Empty if none is open.
    """
    closing: list[int] = []
    opened: list[tuple[int, int | None]] = []
    for token in reversed(tokens):
        if token.start >= stop:
            continue
        if token.token_type in CLOSING:
            closing.append(token.start)
        elif token.token_type in OPENING:
            opened.insert(0, (token.start, closing.pop() if closing else None))
            if opened[0][1] is None:
                return tuple(opened)
    return ()


def word_like_keyword(tokens: list[Token], stop: int) -> SqlDiagnostic | None:
    """Return the error of a word up to `stop` that only looks like a keyword."""
    for token in tokens:
        name = token.text.removesuffix(MARK)
        if token.start > stop or token.token_type != TokenType.VAR:
            continue
        if (meant := looks_like(name, KEYWORDS)) is not None:
            remedy = did_you_mean(name, [meant], f"did you mean '{meant}'?")
            return SqlDiagnostic("MS401", f"unexpected '{name}'", remedy, token.start, token.end + 1, name)
    return None


def _follows_value(tokens: list[Token], index: int) -> bool:
    """Return whether a word follows a value, without an operator or AS."""
    return tokens[index].text[:1].isalpha() and tokens[index - 1].token_type in _VALUES


def _in_select(tokens: list[Token], index: int) -> bool:
    """Return whether a token is in a SELECT list, where it can be an alias."""
    depth = 0
    for token in reversed(tokens[:index]):
        depth += (token.token_type in CLOSING) - (token.token_type in OPENING)
        if depth < 0 or (depth == 0 and token.token_type in _CLAUSES):
            return token.token_type == TokenType.SELECT
    return False
