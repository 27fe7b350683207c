"""USING and NATURAL: columns that exist once for both sides of a join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.sql.coercion import common_type
from millstream.sql.scope import NOTHING, Bound, Relation, as_kind
from millstream.sql.values import Source
from millstream.types import UNKNOWN

if TYPE_CHECKING:
    from millstream.sql.expressions import Expressions


def shared_names(before: list[Relation], added: list[Relation]) -> list[str]:
    """Return the names that both sides of a NATURAL JOIN have, in the order of the left one."""
    right = {column.name.lower() for relation in added for column in relation.columns}
    names = [column.name for relation in before for column in relation.columns if not column.hidden]
    return list(dict.fromkeys(name for name in names if name.lower() in right))


def join_columns(
    walk: Expressions, name: exp.Expr, before: list[Relation], added: list[Relation], side: str
) -> frozenset[Source]:
    """Make one column of the two that USING names; return what decides which rows meet."""
    folded = name.name.lower()
    left = walk.scope.merged.get(folded) or _find(before, folded)
    right = _find(added, folded)
    if left is None or right is None:
        _missing(walk, name, [*([] if left else before), *([] if right else added)])
        return NOTHING
    one, other = (right, left) if side == "RIGHT" else (left, right)
    if side == "FULL":
        found = common_type(left.type, right.type) or UNKNOWN
        merged = Bound(left.name, found, True, as_kind(left.sources | right.sources, "computed"))
    else:
        merged = Bound(left.name, one.type, one.nullable, one.sources)
    walk.scope.merged[folded] = merged
    return as_kind(one.sources | other.sources, "join")


def _find(relations: list[Relation], folded: str) -> Bound | None:
    listed = next((found for relation in relations if (found := relation.find(folded))), None)
    return listed or next((relation.take(folded) for relation in relations if relation.open), None)


def _missing(walk: Expressions, name: exp.Expr, relations: list[Relation]) -> None:
    where = "' and '".join(relation.alias for relation in relations)
    known = [column.name for relation in relations for column in relation.columns]
    walk.findings.problem(
        name,
        "MS402",
        f"'{where}' has no column '{name.name}'",
        did_you_mean(name.name, known, "name a column of both sides"),
        name.name,
    )
