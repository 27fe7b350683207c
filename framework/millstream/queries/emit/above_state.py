"""Lookups and subqueries above state, written so that Spark reads the rows below to the end.

Spark stores the state of a batch, and a watermark follows its rows, only if all of them are read. But
HashJoin.innerJoin and semiJoin read none if the other side is empty (EmptyHashedRelation), except in
whole-stage code, which Spark does not use for wide rows (`spark.sql.codegen.maxFields`) and code that is too
long to compile. Joins that return all rows of the stream also read them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, all_of, join_pieces, quote_name, variables_of
from millstream.core.types import BOOLEAN
from millstream.plan.nodes import Filter, Lookup, Node, Project
from millstream.plan.streaming import STEPS
from millstream.plan.traits import traits_of
from millstream.queries.emit.draft import Draft, barrier_condition
from millstream.queries.emit.fuse import fuse_join, unused_name
from millstream.sql.trees import ExpressionTree, OperatorTree, OtherTree, tree_of, walk_tree

Close = Callable[[Draft, Node, str], Draft]

MARKER = "_found"
_NEVER = "spark_partition_id() < 0"
"""A condition that Catalyst can't evaluate: it would turn `where r.id > 1` over a left join with `r` into an
inner join (EliminateOuterJoin), and `where id in (select …)` into a semi join (RewritePredicateSubquery)."""


def is_above_state(node: Node) -> bool:
    """Whether a node's rows come from state, or through a watermark, of the same query."""
    return not {*STEPS}.isdisjoint(traits_of(node).below)


def is_guarded(node: Node) -> bool:
    """Whether the SQL of a node has conditions that are not deterministic, since it is above state."""
    match node:
        case Lookup():
            kinds = {"inner", "left", "semi"} if node.on else {"left", "semi"}
            return node.kind in kinds and is_above_state(node.left)
        case Filter() | Project():
            return any(map(_drops_rows, node.expressions)) and is_above_state(node.input)
    return False


def filtered_cross_lookup(node: Node) -> Lookup | None:
    """Return a filter over a cross lookup as the inner lookup that Catalyst would make of them."""
    if (
        not isinstance(node, Filter)
        or not isinstance(input_node := node.input, Lookup)
        or input_node.kind != "cross"
    ):
        return None
    of_right = {column.name for column in input_node.joined if column.side == "right"}
    if not is_above_state(input_node.left) or isinstance(input_node.left, Lookup):
        return None  # among several, Catalyst finds the order
    if not all(
        condition.movable and not condition.reads and condition.columns & of_right
        for condition in node.conditions
    ):
        return None
    return replace(input_node, kind="inner", on=node.conditions)


def mark_rows(close: Close, right: Draft, node: Lookup) -> Draft:
    """Return the right side of an inner lookup with a column that is NULL in rows without a match."""
    (source,) = right.sources
    true = Expression(("true",), BOOLEAN, nullable=False, atomic=True)
    marked = replace(right, items={**right.items, unused_name(MARKER, right.items): true})
    return close(marked, node.right, f"{source.name}{MARKER}")


def fuse_lookup(left: Draft, right: Draft, node: Lookup) -> Draft | None:
    """Join a relation at rest to a SELECT whose rows must all be read; `right` of an inner lookup is marked.

    The condition that drops rows is not deterministic, so that Catalyst moves no other one across it.
    """
    fused = fuse_join(left, right, replace(node, kind="left") if node.kind == "inner" else node)
    if fused is None or node.kind not in {"inner", "left", "semi"}:
        return fused
    source = fused.sources[-1]
    match node.kind:
        case "inner":
            *_, marker = right.items
            return replace(fused, where=(*fused.where, _or_never((Ref(marker, source.alias),))))
        case "semi":
            hint = f"/*+ broadcast({quote_name(source.alias)}) */ " if source.broadcast else ""
            alias = "" if source.alias == source.name else f" as {quote_name(source.alias)}"
            on = (" where ", *all_of(source.on, BOOLEAN).pieces) if source.on else ()
            pieces = ("exists (select ", hint, "1 from ", quote_name(source.name), alias, *on, ")")
            exists = _or_never(pieces, *source.on)
            return replace(fused, sources=fused.sources[:-1], where=(*fused.where, exists))
        case _:
            return replace(fused, where=(*fused.where, barrier_condition()))


def guarded_filter(node: Filter) -> Filter:
    """Return a filter whose conditions Spark evaluates for each row, even if their subqueries have none."""
    conditions = (
        replace(_or_never(condition.pieces, condition), start=condition.start, stop=condition.stop)
        if _drops_rows(condition)
        else condition
        for condition in node.conditions
    )
    return replace(node, conditions=tuple(conditions))


def guarded_projection(node: Project) -> Project:
    """Return a projection whose subqueries Catalyst doesn't move into a filter above it."""
    items = (
        replace(item, expression=_guarded(item.expression)) if _drops_rows(item.expression) else item
        for item in node.items
    )
    return replace(node, items=tuple(items))


def _guarded(expression: Expression) -> Expression:
    pieces = ("if(spark_partition_id() >= 0, ", *expression.pieces, ", null)")
    return replace(expression, pieces=join_pieces(pieces), nullable=True, deterministic=False, atomic=True)


def _drops_rows(expression: Expression) -> bool:
    """Whether Catalyst may join the relation of a subquery so that rows without a match are not read.

    NOT IN reads them, except for a subquery with a NULL, for which no row is kept. As part of another
    condition, it would compare each row with all rows of the subquery.
    """
    if not expression.reads:
        return False
    return not any(map(_is_not_in, walk_tree(tree_of(expression))))


def _is_not_in(tree: ExpressionTree) -> bool:
    match tree:
        case OperatorTree(sign="not", operands=(OtherTree(kind="in subquery"),)):
            return True
    return False


def _or_never(pieces: tuple[Piece, ...], *parts: Expression) -> Expression:
    return Expression(
        join_pieces((*pieces, f" or {_NEVER}")),
        BOOLEAN,
        deterministic=False,
        raises=any(part.raises for part in parts),
        functions=tuple(name for part in parts for name in part.functions),
        variables=variables_of(parts),
    )
