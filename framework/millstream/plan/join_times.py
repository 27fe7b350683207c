"""Which sides of a join of streams have rows that Spark drops, since no later row can match them.

Spark reads it from ON (StreamingJoinHelper, StreamingSymmetricHashJoinHelper): a column that is an event time
is compared by `=`, or two timestamps of both sides by `<`, `<=`, `>`, `>=` or BETWEEN, each more or less a
constant interval. Fields of a window, functions, casts and months bound nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces
from millstream.core.types import Row, Type
from millstream.plan.nodes import Join
from millstream.sql.trees import ColumnTree, ExpressionTree, IntervalTree, OperatorTree, columns_of, tree_of

Side = Literal["left", "right"]
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class _Comparison(Struct, frozen=True):
    """Two operands with `=`, `<`, `<=`, `>` or `>=` between them."""

    left: ExpressionTree
    sign: str
    right: ExpressionTree


def is_window(type_: Type) -> bool:
    """Return whether a type is that of `window(…)`: a struct of two timestamps."""
    return isinstance(type_, Row) and [field.name for field in type_.fields] == ["start", "end"]


def dropped_sides(node: Join, times: Collection[str]) -> frozenset[Side]:
    """Return the sides whose rows are dropped once they can't match; `times` are event times in the join."""
    sides: dict[str, Side] = {joined.name: joined.side for joined in node.joined}
    comparisons = [comparison for condition in node.on for comparison in _comparisons(condition)]
    if any(_is_key(comparison, sides, times) for comparison in comparisons):
        return frozenset(("left", "right"))
    inputs = {"left": node.left, "right": node.right}
    windows = {j.name for j in node.joined if is_window(inputs[j.side].column(j.source).type)}
    exact = {*times} - windows
    return frozenset(
        sides[later]
        for comparison in comparisons
        for later, earlier in [_bound(comparison)]
        if later in exact and earlier in exact and sides[later] != sides[earlier]
    )


def with_hidden_bounds(node: Join, times: Collection[str]) -> Join:
    """Return a join that Spark keeps rows for as long as they can match.

    Spark drops rows by the event time of their side, even where ON compares another timestamp of it, which
    may be later. In a function, it does not see that timestamp.
    """
    sides: dict[str, Side] = {joined.name: joined.side for joined in node.joined}
    dropped = dropped_sides(node, times)
    on = tuple(_hidden(condition, sides, {*times}, dropped) for condition in node.on)
    return node if on == node.on else replace(node, on=on)


def _hidden(
    condition: Expression, sides: Mapping[str, Side], times: set[str], dropped: Collection[Side]
) -> Expression:
    timed = {sides[time] for time in times if time in sides}
    misleading = {
        later
        for comparison in _comparisons(condition)
        for later, earlier in [_bound(comparison)]
        if later and later not in times and earlier in times
        if sides[later] not in {sides[earlier], *dropped} and sides[later] in timed
    }
    if not misleading:
        return condition
    pieces: list[Piece] = []
    for piece in condition.pieces:
        hidden = isinstance(piece, Ref) and piece.column in misleading
        pieces += ["timestamp_micros(unix_micros(", piece, "))"] if hidden else [piece]
    return replace(condition, pieces=join_pieces(pieces))


def _is_key(compared: _Comparison, sides: Mapping[str, Side], times: Collection[str]) -> bool:
    """Return whether a comparison is `=` of both sides, with an event time alone on one of them."""
    if compared.sign != "=":
        return False
    operands = (compared.left, compared.right)
    read = [{sides.get(name) for name in columns_of(operand)} for operand in operands]
    if not (len(read[0]) == len(read[1]) == 1 and read[0] != read[1]):
        return False
    return any(isinstance(operand, ColumnTree) and operand.name in times for operand in operands)


def _bound(compared: _Comparison) -> tuple[str, str]:
    """Return the timestamp that is at least as late as another one, less a constant, and that other one."""
    if compared.sign in {"<", "<="}:
        compared = _Comparison(compared.right, _MIRRORED[compared.sign], compared.left)
    if compared.sign not in {">", ">="}:
        return "", ""
    later, earlier = _shifted(compared.left), _shifted(compared.right)
    return (later, earlier) if later and earlier else ("", "")


def _shifted(tree: ExpressionTree) -> str:
    """Return the only column of `column + interval 1 hour`; empty for any other operand."""
    match tree:
        case ColumnTree():
            return tree.name
        case OperatorTree(sign="+" | "-", operands=(one, other)) if _is_length(other):
            return _shifted(one)
        case OperatorTree(sign="+", operands=(one, other)) if _is_length(one):
            return _shifted(other)
    return ""


def _is_length(tree: ExpressionTree) -> bool:
    """Return whether a tree is a constant interval that always has the same length."""
    match tree:
        case IntervalTree(fixed=fixed):
            return fixed
        case OperatorTree(sign="+" | "-" | "negative", operands=operands):
            return all(map(_is_length, operands))
    return False


def _comparisons(condition: Expression) -> Iterator[_Comparison]:
    """Yield the comparisons that a condition consists of; nothing for any other condition."""
    match tree_of(condition):
        case OperatorTree(sign="between", operands=(tested, low, high)):
            yield _Comparison(tested, ">=", low)
            yield _Comparison(tested, "<=", high)
        case OperatorTree(sign="not", operands=(OperatorTree(sign=sign, operands=(left, right)),)):
            # NOT BETWEEN is an OR, which bounds nothing.
            if sign in _NEGATED:
                yield _Comparison(left, _NEGATED[sign], right)
        case OperatorTree(sign=sign, operands=(left, right)) if sign in _MIRRORED:
            yield _Comparison(left, sign, right)
