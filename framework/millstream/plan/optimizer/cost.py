"""The cost of evaluating an expression, in a few classes, since exact costs are unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millstream.core.expressions import Expression, Ref

FREE, PLAIN, HEAVY, PYTHON = 0, 1, 2, 3
"""A column, a field or a literal; native SQL; SQL that parses, searches or queries; a Python function."""

_HINTED = {"low": PYTHON, "medium": PYTHON + 1, "high": PYTHON + 2}
_PATH = re.compile(r"(\.\w+)+")
_LITERAL = re.compile(r"[\w.]+|-\d[\w.]*|\w*\s?'[^'\\]*'")
_HEAVY = re.compile(
    r"\b(rlike|regexp|(from|to|parse|schema_of)_(json|xml|csv)|get_json_object|regexp_\w+|xpath\w*|parse_url"
    r"|sha[12]?|md5|aes_\w+|levenshtein|transform|filter|aggregate|reduce|exists|forall|zip_with)\b"
)


def expression_cost(expression: Expression, hinted: Mapping[str, str] | None = None) -> int:
    """Return the class of an expression; `hinted` has the costs of Python functions."""
    if expression.functions:
        return max(_HINTED[(hinted or {}).get(name, "medium")] for name in expression.functions)
    attributes = expression.__dict__
    if _CACHED not in attributes:
        attributes[_CACHED] = _native(expression)
    native_cost: int = attributes[_CACHED]
    return native_cost


_CACHED = "cost"


def _native(expression: Expression) -> int:
    if is_free(expression):
        return FREE
    if expression.reads or any(isinstance(p, str) and _HEAVY.search(p) for p in expression.pieces):
        return HEAVY
    return PLAIN


def is_free(expression: Expression) -> bool:
    """Return whether evaluating it twice is nearly free and gives the same value."""
    if not expression.deterministic or expression.functions:
        return False
    match expression.pieces:
        case (Ref(),):
            return True
        case (Ref(), str() as path):
            return _PATH.fullmatch(path) is not None
        case (str() as literal,):
            return _LITERAL.fullmatch(literal) is not None
    return False
