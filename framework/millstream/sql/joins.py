"""USING and NATURAL: columns that a join merges."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.errors import did_you_mean
from millstream.core.expressions import Expression
from millstream.core.types import BOOLEAN, UNKNOWN
from millstream.sql.casts import cast_raises
from millstream.sql.coercion import common_type
from millstream.sql.expressions import Expressions
from millstream.sql.reading import column_pieces
from millstream.sql.scope import NOTHING, Bound, Joined, Refs, Relation, as_kind
from millstream.sql.values import Source


def shared_names(before: list[Relation], added: list[Relation]) -> list[str]:
    """Return the names that both sides of a NATURAL JOIN have, in the order of the left one."""
    right = {column.name.lower() for relation in added for column in relation.columns}
    names = [column.name for relation in before for column in relation.columns if not column.hidden]
    return list(dict.fromkeys(name for name in names if name.lower() in right))


def join_columns(
    walk: Expressions,
    name: exp.Expr,
    before: list[Relation],
    added: list[Relation],
    side: str,
    joined: Joined,
) -> frozenset[Source]:
    """Merge the two columns that USING names; return the lineage of the condition."""
    folded = name.name.lower()
    merged_before = walk.scope.merged.get(folded)
    left, left_refs = (merged_before, walk.scope.sides[folded]) if merged_before else _find(before, folded)
    right, right_refs = _find(added, folded)
    if left is None or right is None:
        _missing(walk, name, [*([] if left else before), *([] if right else added)])
        return NOTHING
    joined.equal += (_equal(left, left_refs, right, right_refs),)
    walk.scope.sides[folded] = (
        left_refs + right_refs if side == "FULL" else right_refs if side == "RIGHT" else left_refs
    )
    one, other = (right, left) if side == "RIGHT" else (left, right)
    if side == "FULL":
        if left.type != right.type:
            walk.findings.marks.not_split("a FULL JOIN whose USING columns have different types")
        type_ = common_type(left.type, right.type) or UNKNOWN
        merged = Bound(left.name, type_, True, as_kind(left.sources | right.sources, "computed"))
    else:
        merged = Bound(left.name, one.type, one.nullable, one.sources)
    walk.scope.merged[folded] = merged
    return as_kind(one.sources | other.sources, "join")


def _equal(left: Bound, left_refs: Refs, right: Bound, right_refs: Refs) -> Expression:
    type_ = common_type(left.type, right.type) or UNKNOWN
    return Expression(
        (*column_pieces(left_refs), " = ", *column_pieces(right_refs)),
        BOOLEAN,
        left.nullable or right.nullable,
        raises=cast_raises(left.type, type_) or cast_raises(right.type, type_),
    )


def _find(relations: list[Relation], folded: str) -> tuple[Bound | None, Refs]:
    for relation in relations:
        if column := relation.find(folded):
            return column, ((relation.key, column.name),)
    for relation in relations:
        if relation.open:
            taken = relation.assume(folded)
            return taken, ((relation.key, taken.name),)
    return None, ()


def _missing(walk: Expressions, name: exp.Expr, relations: list[Relation]) -> None:
    where = "' and '".join(relation.alias for relation in relations)
    columns = [column.name for relation in relations for column in relation.columns]
    message = f"'{where}' has no column '{name.name}'"
    hint = did_you_mean(name.name, columns, "name a column of both sides")
    walk.findings.report(name, "MS402", message, hint, name.name)
