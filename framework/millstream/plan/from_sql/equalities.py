"""The columns that a join compares by `=`, which Spark uses to look up rows of the other stream."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from millstream.core.expressions import Expression, quote_name
from millstream.core.types import Type
from millstream.plan.from_sql.scope import PlanScope
from millstream.plan.nodes import Join, JoinColumn, Lookup
from millstream.sql.trees import OperatorTree, columns_of, compared_columns, tree_of

NamedColumn = tuple[str, Type, bool]
"""A column's name in SQL, its type, and whether it is an event time."""


def has_equality(conditions: Iterable[Expression], left: Collection[str], right: Collection[str]) -> bool:
    """Return whether a condition is `x = y` over both sides, as in Spark's ExtractEquiJoinKeys."""
    return any(_equates(condition, frozenset(left), frozenset(right)) for condition in conditions)


def conditions_on(
    scope: PlanScope, conditions: Iterable[Expression], names: Collection[str]
) -> list[Expression]:
    """Return the conditions of WHERE that only read columns with these names; Spark moves them to ON."""
    moved = []
    for condition in conditions:
        is_in_scope = {
            (ref.relation.lower(), ref.column.lower()) for ref in condition.refs
        } <= scope.names.keys()
        if is_in_scope and (bound := scope.bind(condition)).columns <= set(names):
            moved.append(bound)
    return moved


def suggested_equality(left: Sequence[NamedColumn], right: Sequence[NamedColumn]) -> str:
    """Return `a.id = b.id` for two columns with the same type, preferably with the same name."""
    pairs = [
        (one, other)
        for one in left
        for other in right
        if one[1] == other[1] and not (one[2] or other[2])
    ]  # fmt: skip
    alike = [pair for pair in pairs if pair[0][0].rpartition(".")[2] == pair[1][0].rpartition(".")[2]]
    pair = next(iter([*alike, *pairs]), None)
    return f"{pair[0][0]} = {pair[1][0]}" if pair else ""


def columns_in_sql(scope: PlanScope, names: Collection[str], times: Collection[str]) -> list[NamedColumn]:
    """Return columns of a node as the SELECT can name them, without the metadata of records."""
    return [
        (
            f"{quote_name(alias)}.{quote_name(name)}" if alias else quote_name(name),
            column.type,
            column.name in times,
        )
        for (alias, name), column in scope.names.items()
        if column.name in names and not name.startswith("_")
    ]


def equal_columns(condition: Expression, sides: dict[str, JoinColumn]) -> tuple[str, str] | None:
    """Return the columns that `a.k = b.k` compares, the left side's first."""
    pair = compared_columns(condition)
    a, b = (sides.get(ref.column) for ref in pair) if pair is not None else (None, None)
    if a and b and a.side != b.side:
        return (a.source, b.source) if a.side == "left" else (b.source, a.source)
    return None


def matches_by_equality(node: Join | Lookup) -> bool:
    """Return whether columns compared by = decide which right rows match; other conditions use one side."""
    sides = {joined.name: joined for joined in node.joined}
    rest = [condition for condition in node.on if not equal_columns(condition, sides)]
    alone = all(len({sides[name].side for name in condition.columns}) < 2 for condition in rest)
    return alone and len(rest) < len(node.on)


def _equates(condition: Expression, left: frozenset[str], right: frozenset[str]) -> bool:
    """Return whether a condition is `x = y` or `x <=> y`, each of which reads one side of the join."""
    match tree_of(condition):
        case OperatorTree(sign="=" | "<=>", operands=operands):
            one, other = map(columns_of, operands)
            sides = (one <= left and other <= right) or (one <= right and other <= left)
            return bool(one and other) and sides
    return False
