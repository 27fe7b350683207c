"""Finds calls of Python functions in expressions, and rewrites them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces
from millstream.sql import trees
from millstream.sql.call_pieces import split_pieces
from millstream.sql.trees import (
    CallTree,
    ExpressionTree,
    OperatorTree,
    OtherTree,
    called_functions,
    tree_of,
    walk_tree,
)

_SOMETIMES = frozenset(("if", "iff", "nvl", "nvl2", "coalesce", "ifnull", "nullif"))
"""Functions that don't evaluate all of their arguments, besides those whose names begin with `try_`."""
_NAMED = frozenset(("struct", "arrays_zip"))
"""Functions that name fields as their arguments."""


class SeparableCall(NamedTuple):
    function: str
    pieces: tuple[Piece, ...]
    inner: tuple[str, ...]
    """All functions that are called in it, including itself."""


def separable_calls(expression: Expression, *, anywhere: bool = False) -> list[SeparableCall]:
    """Return the calls that could be computed in a separate column, including inner ones.

    Without `anywhere`, calls in a struct are excluded: the column's name would become that of a field.
    """
    if not expression.functions or not expression.deterministic or expression.variables:
        return []
    if not anywhere and not _NAMED.isdisjoint(called_functions(expression)):
        return []
    tokens = split_pieces(expression)
    return [_call(expression, tokens, start, stop) for start, stop in _call_ranges(expression, tokens)]


def always_evaluated(expression: Expression) -> bool:
    """Return whether all calls in it are evaluated for each row."""
    return not any(map(_skips_parts, walk_tree(tree_of(expression))))


def _skips_parts(tree: ExpressionTree) -> bool:
    match tree:
        case OperatorTree(sign="and" | "or") | OtherTree(kind="case" | "try_cast" | trees.UNREAD):
            return True
        case CallTree(name=name):
            return name in _SOMETIMES or name.startswith("try_")
    return False


def with_column(expression: Expression, call: SeparableCall, name: str) -> Expression:
    """Replace a call by a column."""
    tokens = split_pieces(expression)
    spans = [s for s in _call_ranges(expression, tokens) if join_pieces(tokens[s[0] : s[1]]) == call.pieces]
    if not spans:
        return expression
    functions = list(expression.functions)
    pieces: list[Piece] = []
    position = 0
    for start, stop in spans:
        pieces += [*tokens[position:start], Ref(name)]
        position = stop
        for function in call.inner:
            functions.remove(function)
    replaced = join_pieces([*pieces, *tokens[position:]])
    alone = len(replaced) == 1
    return replace(
        expression,
        pieces=replaced,
        functions=tuple(functions),
        raises=expression.raises and not alone,
        atomic=alone or expression.atomic,
    )


def with_first(expression: Expression, suffix: str, first: Sequence[Piece]) -> Expression:
    """Add a first argument to each call, and a suffix to its function's name."""
    tokens = split_pieces(expression)
    names = {start for start, _ in _call_ranges(expression, tokens)}
    pieces: list[Piece] = []
    for index, token in enumerate(tokens):
        if index in names:
            pieces.append(f"{token}{suffix}")
        elif index - 1 in names:
            alone = str(tokens[index + 1]) == ")"
            pieces += ["(", *first, *([] if alone else [", "])]
        else:
            pieces.append(token)
    return replace(expression, pieces=join_pieces(pieces))


def with_first_unless(expression: Expression, suffix: str, condition: Sequence[Piece]) -> Expression:
    """Let the first argument of calls with a suffix, which is itself a call, be NULL under a condition."""
    names = {f"{name}{suffix}".lower() for name in expression.functions}
    pieces: list[Piece] = []
    parts, depth = split_pieces(expression), -1
    for index, part in enumerate(parts):
        pieces.append(part)
        before = parts[index - 1] if index else ""
        if part == "(" and isinstance(before, str) and before.lower() in names:
            pieces += ["if(", *condition, ", null, "]
            depth = 0
        elif depth >= 0 and part in {"(", ")"}:
            depth += 1 if part == "(" else -1
            if depth == 0:
                pieces.append(")")
                depth = -1
    return replace(expression, pieces=join_pieces(pieces))


def _call_ranges(expression: Expression, tokens: list[Piece]) -> list[tuple[int, int]]:
    """Return the token ranges of calls, outer ones before inner ones."""
    folded = {name.lower() for name in expression.functions}
    ranges: list[tuple[int, int]] = []
    for start, token in enumerate(tokens[:-1]):
        if not isinstance(token, str) or token.lower() not in folded or tokens[start + 1] != "(":
            continue
        depth = 0
        for stop in range(start + 1, len(tokens)):
            depth += (tokens[stop] == "(") - (tokens[stop] == ")")
            if depth == 0:
                ranges.append((start, stop + 1))
                break
    return ranges


def _call(expression: Expression, tokens: list[Piece], start: int, stop: int) -> SeparableCall:
    names = {name.lower(): name for name in expression.functions}
    inner = [
        names[str(tokens[range_[0]]).lower()]
        for range_ in _call_ranges(expression, tokens)
        if start <= range_[0] < stop
    ]
    return SeparableCall(inner[0], join_pieces(tokens[start:stop]), tuple(inner))
