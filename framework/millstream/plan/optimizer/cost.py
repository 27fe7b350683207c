"""The cost of evaluating an expression, in a few classes, since exact costs are unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millstream.core.expressions import Expression
from millstream.sql.trees import (
    CallTree,
    ColumnTree,
    ExpressionTree,
    FieldOf,
    LiteralTree,
    OperatorTree,
    OtherTree,
    tree_of,
    walk_tree,
)

FREE, PLAIN, HEAVY, PYTHON = 0, 1, 2, 3
"""A column, a field or a literal; native SQL; SQL that parses, searches or queries; a Python function."""

_HINTED = {"low": PYTHON, "medium": PYTHON + 1, "high": PYTHON + 2}
_HEAVY = frozenset((
    "aggregate", "exists", "filter", "forall", "get_json_object", "levenshtein", "md5", "parse_url", "reduce",
    "rlike", "sha", "sha1", "sha2", "transform", "zip_with",
))  # fmt: skip
_HEAVY_KINDS = re.compile(r"(from|to|parse|schema_of)_(json|xml|csv)|regexp_\w+|xpath\w*|aes_\w+")
"""Functions that parse, search or encrypt."""


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
    return HEAVY if expression.reads or any(map(_is_heavy, walk_tree(tree_of(expression)))) else PLAIN


def _is_heavy(tree: ExpressionTree) -> bool:
    match tree:
        case CallTree(name=name):
            return name in _HEAVY or _HEAVY_KINDS.fullmatch(name) is not None
    return isinstance(tree, OtherTree) and tree.kind == "regexplike"


def is_free(expression: Expression) -> bool:
    """Return whether evaluating it twice is nearly free and gives the same value."""
    if not expression.deterministic or expression.functions:
        return False
    tree = tree_of(expression)
    if isinstance(tree, OperatorTree) and tree.sign == "negative":
        (tree,) = tree.operands
        return isinstance(tree, LiteralTree)
    while isinstance(tree, FieldOf):
        tree = tree.base
    return isinstance(tree, ColumnTree | LiteralTree)
