"""What a join compares by `=`: Spark looks up the rows of the other stream by it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from millstream.expressions import Expression, Ref, quoted
from millstream.plan.from_sql.scope import Scope
from millstream.plan.nodes import Join, JoinColumn, Lookup
from millstream.types import Type

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_SIGN = re.compile(r"(?<![<>=!])==?(?!=)|<=>")
_WORDS = re.compile(
    r"\b(?:or|and|not|case|between|in|is|like|rlike|ilike)\b|<>|!|<(?!=>)|(?<!=)>", re.IGNORECASE
)

Written = tuple[str, Type, bool]
"""A column as SQL names it, its type, and whether it is an event time."""


def has_equality(conditions: Iterable[Expression], left: Collection[str], right: Collection[str]) -> bool:
    """Tell whether a condition is `x = y`, with `x` of one side and `y` of the other: ExtractEquiJoinKeys."""
    return any(_equates(each, frozenset(left), frozenset(right)) for each in conditions)


def of_sides(scope: Scope, conditions: Iterable[Expression], names: Collection[str]) -> list[Expression]:
    """Return the conditions of WHERE that read nothing but columns of these names; Spark moves them to ON."""
    found = []
    for each in conditions:
        known = {(ref.relation.lower(), ref.column.lower()) for ref in each.refs} <= scope.names.keys()
        if known and (bound := scope.bind(each)).columns <= set(names):
            found.append(bound)
    return found


def suggested(left: Sequence[Written], right: Sequence[Written]) -> str:
    """Return `a.id = b.id` of two columns with one type, and with one name if there are such."""
    pairs = [
        (one, other)
        for one in left
        for other in right
        if one[1] == other[1] and not (one[2] or other[2])
    ]  # fmt: skip
    alike = [pair for pair in pairs if _name(pair[0][0]) == _name(pair[1][0])]
    found = next(iter([*alike, *pairs]), None)
    return f"{found[0][0]} = {found[1][0]}" if found else ""


def in_sql(scope: Scope, names: Collection[str], times: Collection[str]) -> list[Written]:
    """Return columns of a node as the SELECT can name them, metadata of records aside."""
    return [
        (f"{quoted(alias)}.{quoted(name)}" if alias else quoted(name), found.type, found.name in times)
        for (alias, name), found in scope.names.items()
        if found.name in names and not name.startswith("_")
    ]


def equal_columns(condition: Expression, sides: dict[str, JoinColumn]) -> tuple[str, str] | None:
    """Return the column of each side that `a.k = b.k` compares, left one first."""
    match condition.pieces:
        case (Ref() as one, " = ", Ref() as other):
            a, b = sides.get(one.column), sides.get(other.column)
            if a and b and a.side != b.side:
                return (a.source, b.source) if a.side == "left" else (b.source, a.source)
    return None


def meets_one(node: Join | Lookup) -> bool:
    """Tell whether columns compared by = decide which rows of the right side a row meets.

    Further conditions may ask something of one side alone.
    """
    sides = {joined.name: joined for joined in node.joined}
    rest = [each for each in node.on if not equal_columns(each, sides)]
    alone = all(len({sides[name].side for name in each.columns}) < 2 for each in rest)
    return alone and len(rest) < len(node.on)


def _name(text: str) -> str:
    return text.rpartition(".")[2]


def _equates(condition: Expression, left: frozenset[str], right: frozenset[str]) -> bool:
    """Tell whether what stands on either side of the only `=` reads one side of the join each."""
    halves: list[set[str]] = [set()]
    depth = 0
    for piece in _unwrapped(condition.pieces):
        if isinstance(piece, Ref):
            halves[-1].add(piece.column)
        elif isinstance(piece, str):
            outside = ""
            for sign in _QUOTED.sub("''", piece):
                depth += (sign in "([") - (sign in ")]")
                outside += sign if not depth else " "
            if _WORDS.search(outside):
                return False
            # Columns stand between pieces: those before a sign are of the half that it ends.
            halves += [set() for _ in _SIGN.findall(outside)]
    if len(halves) != 2 or not all(halves):
        return False
    one, other = halves
    return (one <= left and other <= right) or (one <= right and other <= left)


def _unwrapped(pieces: Sequence[object]) -> list[object]:
    """Return the pieces of `(x = y)` without the parentheses around all of it."""
    found = list(pieces)
    while len(found) > 1 and str(found[0]) == "(" and str(found[-1]) == ")":
        found = found[1:-1]
    return found
