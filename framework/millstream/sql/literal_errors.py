"""Finds literals that sqlglot accepts, but Spark rejects or reads differently."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.values import SqlDiagnostic

_NUMBER = re.compile(
    r"(?P<whole>\d+)(?P<suffix>[LSY])?|(?P<digits>(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?)(?:D|F|BD)?",
    re.IGNORECASE,
)
_RANGES = {"Y": 7, "S": 15, "L": 63}
_DIGITS = 38
_STRINGS = frozenset(
    kind
    for name in ("NATIONAL_STRING", "BIT_STRING", "BYTE_STRING", "UNICODE_STRING", "HEREDOC_STRING")
    if (kind := getattr(TokenType, name, None))
)
_BEFORE_DOT = frozenset(
    (TokenType.NUMBER, TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_BRACKET, TokenType.R_PAREN)
)
_PARAMETERS = frozenset((TokenType.PARAMETER, TokenType.PLACEHOLDER))


def bad_bytes(sql: str) -> SqlDiagnostic | None:
    """Find `x'…'` with other characters than hexadecimal digits."""
    literal = re.search(r"\bx'[0-9a-f]*[^0-9a-f'][^']*'", sql, re.IGNORECASE)
    if literal is None:
        return None
    message = "a binary literal can only contain hexadecimal digits"
    return SqlDiagnostic(
        "MS432", message, "write X'1F', or encode('…', 'utf-8')", literal.start(), literal.end(), literal[0]
    )


def find_misread_literal(sql: str, token: Token, before: Sequence[Token]) -> SqlDiagnostic | None:
    """Return the error of a literal that Spark reads differently or rejects; `before` has earlier tokens."""
    raw = sql[token.start : token.end + 1]
    kind = token.token_type
    if kind == TokenType.HEX_STRING and raw[:1] == "0":
        number = int(raw, 16)
        return _diagnostic(
            token, raw, f"write {number}, or X'{raw[2:]}' for bytes", "Spark has no hexadecimal numbers"
        )
    if kind in _STRINGS:
        return _diagnostic(token, raw, f"write '{token.text}'", "Spark has no such literal")
    if kind in _PARAMETERS:
        remedy = "write the value, or {{ var('name') }}"
        return _diagnostic(token, raw, remedy, "a model's SQL has no parameters")
    if kind == TokenType.NUMBER:
        return _number(token, raw, before)
    return None


def _number(token: Token, raw: str, before: Sequence[Token]) -> SqlDiagnostic | None:
    number = _NUMBER.fullmatch(raw)
    if _follows(token, before, TokenType.DOT):
        dot = before[-1]
        if len(before) > 1 and before[-2].end == dot.start - 1 and before[-2].token_type in _BEFORE_DOT:
            return _diagnostic(
                token, raw, "put a name that starts with a digit in backquotes", f"unexpected '.{raw}'"
            )
        number = _NUMBER.fullmatch(f".{raw}")
    if number is None:
        return _diagnostic(
            token, raw, "write digits, and a '.' or an exponent such as 1.5e3", f"'{raw}' is not a number"
        )
    integer, suffix = number["whole"], (number["suffix"] or "").upper()
    if suffix:
        negative = bool(before) and before[-1].token_type == TokenType.DASH
        if int(integer) > 2 ** _RANGES[suffix] - (not negative):
            return _diagnostic(
                token, raw, "remove the letter, or use a larger type", f"{raw} is out of range"
            )
    digits = re.sub(r"\D", "", re.split("[eE]", integer or number["digits"])[0]).lstrip("0")
    exact = integer is not None or (raw[-1:].lower() not in {"f", "e"} and "e" not in raw.lower())
    if exact and not suffix and len(digits) > _DIGITS and not raw.upper().endswith("D"):
        return _diagnostic(
            token, raw, "write it with an exponent, such as 1e40", f"a number has at most {_DIGITS} digits"
        )
    return None


def _follows(token: Token, before: Sequence[Token], kind: TokenType) -> bool:
    return bool(before) and before[-1].token_type == kind and before[-1].end == token.start - 1


def _diagnostic(token: Token, raw: str, remedy: str, message: str) -> SqlDiagnostic:
    return SqlDiagnostic("MS432", message, remedy, token.start, token.end + 1, raw)
