"""From text to one syntax tree, or to the places where it can't be read."""

import logging

from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import did_you_mean
from millstream.sql.clauses import NotApartError
from millstream.sql.tokens import MARK, SPARK, Tokens, tokenize
from millstream.sql.values import Problem
from millstream.text import Text
from millstream.types import NAMES

# What sqlglot does not support it logs and passes on as a Command: here that is a located error.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


_AROUND = ("alias", "with_", "order", "limit", "offset")
"""What may stand around a query in parentheses."""


class Parsed(Struct):
    tree: exp.Expr
    tokens: Tokens


def parse(sql: str) -> Parsed | tuple[Problem, ...]:
    tokens = tokenize(sql)
    if isinstance(tokens, Problem):
        return (tokens,)
    if not tokens.tokens:
        return (Problem("MS410", "there is no SQL", 0, 1, "write a SELECT"),)
    try:
        trees = SPARK.parser().parse(_numbered(tokens.tokens), sql)
    except ParseError as error:
        return tuple(_syntax_problems(error, sql))
    except RecursionError:
        return (Problem("MS401", "the SQL is nested too deeply", 0, 1, "split it into several models"),)
    statements = [tree for tree in trees if tree is not None]
    if len(statements) != 1 or ";" in {token.text for token in tokens.tokens}:
        place = next((t for t in tokens.tokens if t.text == ";"), tokens.tokens[-1])
        return (
            Problem(
                "MS410",
                "a model is one query",
                place.start,
                place.end + 1,
                "remove the ';' and what follows it",
            ),
        )
    tree = statements[0]
    while isinstance(tree, exp.Subquery) and not any(tree.args.get(part) for part in _AROUND):
        tree = tree.this
    if not isinstance(tree, exp.Query | exp.Values | exp.Table):
        first = tokens.tokens[0]
        message = f"a model is a SELECT, not {first.text.upper()}"
        return (Problem("MS410", message, first.start, first.end + 1, "write a SELECT"),)
    return Parsed(tree, tokens)


def _numbered(tokens: list[Token]) -> list[Token]:
    """Give each SELECT the index of its word as a comment, which the parser hands over."""
    return [
        Token(t.token_type, t.text, t.line, t.col, t.start, t.end, [f"{MARK}{index}"])
        if t.token_type == TokenType.SELECT
        else t
        for index, t in enumerate(tokens)
    ]


def select_token(node: exp.Select) -> int:
    """Return the index of a SELECT's word among the tokens."""
    found = next((text for text in node.comments or () if text.startswith(MARK)), None)
    if found is None:
        raise NotApartError("a SELECT that has no place in the SQL")
    return int(found.removeprefix(MARK))


def _syntax_problems(error: ParseError, sql: str) -> list[Problem]:
    """Say where reading stopped; what came after the first stop is guesswork."""
    text = Text("", sql)
    problems = []
    for found in error.errors[:1]:
        highlight = str(found.get("highlight") or "")
        stop = text.offset(int(found.get("line") or 1), int(found.get("col") or 1)) + 1
        start = max(0, stop - len(highlight))
        message = _in_plain_words(str(found.get("description") or ""), highlight)
        if message == "expected TYPE after CAST":
            hint = did_you_mean(highlight, NAMES, "use a type of Spark SQL")
            problems.append(Problem("MS407", f"unknown type '{highlight}'", start, stop, hint, highlight))
            continue
        remedy = "look for a missing comma, parenthesis or keyword before it"
        problems.append(Problem("MS401", message, start, stop, remedy, highlight))
    return problems


def _in_plain_words(description: str, highlight: str) -> str:
    """Leave sqlglot's own classes and tokens out of what a user is told."""
    description = description.partition(" but got ")[0].rstrip(".")
    if description.startswith("Required keyword"):
        return f"something is missing around '{highlight}'"
    if not description or "Unexpected token" in description:
        return f"unexpected '{highlight}'"
    if description.startswith("Expecting"):
        return f"expected '{description.removeprefix('Expecting').strip()}' before '{highlight}'"
    return description[0].lower() + description[1:]
