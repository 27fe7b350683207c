"""Fuses a node into the SELECT of its input, if it fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces, variables_of
from millstream.core.types import BOOLEAN
from millstream.plan.nodes import (
    Aggregate,
    Expand,
    Filter,
    Join,
    Lookup,
    MatchedGroups,
    Measure,
    Node,
    Project,
    Watermark,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.calls import with_first_unless
from millstream.plan.optimizer.cost import is_free
from millstream.queries.emit.draft import (
    ENCODED_VALUE,
    LOCATED,
    Draft,
    FromSource,
    Lateral,
    barrier_condition,
    compose_expression,
    fits_draft,
    must_run_once,
    rewrite_within,
)
from millstream.queries.emit.every_tombstone import unless_every_tombstone
from millstream.sql.trees import called_function, called_functions, window_calls

JOINS = {
    "inner": "join", "left": "left join", "right": "right join", "full": "full join",
    "semi": "left semi join", "anti": "left anti join", "cross": "cross join",
}  # fmt: skip


JOINED_LATERALLY = frozenset(("variant_explode", "variant_explode_outer"))
"""Functions that Spark allows as a relation, but not in LATERAL VIEW."""


def fuse_filter(
    draft: Draft, node: Filter, *, deletes: bool, lasting: Sequence[Expression] = ()
) -> Draft | None:
    """Add conditions to WHERE, to HAVING, or to the delete marker.

    A row that does not meet a `lasting` condition never met it, so there is nothing to delete.
    """
    if not fits_draft(draft, node.conditions, again=True):
        return None
    conditions = tuple(rewrite_within(draft, condition) for condition in node.conditions)
    if deletes:
        marked = replace(draft, deleted=delete_unless(draft.deleted, conditions))
        met = tuple(unless_every_tombstone(rewrite_within(draft, condition)) for condition in lasting)
        if draft.keys is not None:
            return replace(marked, having=(*draft.having, *met))
        return replace(marked, where=(*draft.where, *met))
    if not draft.plain and any(
        not expression.deterministic for expression in (*conditions, *draft.items.values(), *draft.where)
    ):
        # The result of a random generator depends on which rows it sees.
        return None
    if draft.keys is not None:
        return replace(draft, having=(*draft.having, *conditions))
    return replace(draft, where=(*draft.where, *conditions))


def fuse_matched(draft: Draft, node: MatchedGroups) -> Draft | None:
    """Add a condition of which groups were sent or will be; it deletes nothing."""
    filtered = fuse_filter(draft, node, deletes=False)
    return filtered and replace(filtered, items={name: filtered.items[name] for name in node.names})


def delete_unless(before: Expression | None, conditions: Iterable[Expression]) -> Expression:
    """Return the delete marker: the row already was a delete, or not all conditions hold."""
    parts = [] if before is None else [before]
    pieces: list[Piece] = [] if before is None else [*before.pieces]
    for condition in conditions:
        parts.append(condition)
        pieces += [" or not coalesce(" if pieces else "not coalesce(", *condition.pieces, ", false)"]
    return compose_expression(parts, pieces, BOOLEAN, nullable=False, atomic=False)


def fuse_project(draft: Draft, node: Project, keys: Iterable[str]) -> Draft | None:
    """Calculate columns; `keys` are those of an upsert relation, which deletes need too."""
    expressions = [item.expression for item in node.items]
    guarded = draft.deleted is not None and any(expression.raises for expression in expressions)
    if guarded and (draft.deleted is None or draft.deleted.column is None):
        return None
    if not fits_draft(draft, expressions):
        return None
    # Spark allows `window_time` only above the GROUP BY of a window.
    if draft.keys is not None and any(
        "window_time" in called_functions(expression) for expression in expressions
    ):
        return None
    items = {item.name: rewrite_within(draft, item.expression) for item in node.items}
    if len({call for expression in (*items.values(), *draft.where) for call in window_calls(expression)}) > 1:
        return None
    if guarded and draft.deleted is not None:
        items = {
            n: expression if n in keys else _unless(draft.deleted, expression, n)
            for n, expression in items.items()
        }
    return replace(draft, items=items)


def _unless(deleted: Expression, expression: Expression, name: str) -> Expression:
    """Skip an expression that can fail for rows that only mark a delete."""
    if name == ENCODED_VALUE:
        return with_first_unless(expression, LOCATED, deleted.pieces)
    if not expression.raises or expression.functions:
        return expression
    pieces = ("if(", *deleted.pieces, ", null, ", *expression.pieces, ")")
    return replace(expression, pieces=join_pieces(pieces), nullable=True, atomic=True)


def fuse_aggregate(draft: Draft, node: Aggregate) -> Draft | None:
    """Group a SELECT that does not group yet."""
    parts = node.expressions
    if draft.keys is not None or draft.deleted is not None or not fits_draft(draft, parts):
        return None
    by = [rewrite_within(draft, key.expression) for key in node.keys]
    if any(must_run_once(key) or key.reads or not key.refs for key in by):
        return None  # a number in GROUP BY is a position
    used = [rewrite_within(draft, part) for part in parts]
    if any(
        must_run_once(expression)
        for expression, part in zip(used, parts, strict=True)
        if not must_run_once(part)
    ):
        return None  # Spark allows neither within an aggregate
    items = {key.name: _window(node, expression) for key, expression in zip(node.keys, by, strict=True)}
    for measure in node.measures:
        items[measure.name] = _measured(draft, measure)
    return replace(draft, items=items, keys=tuple(by))


def _window(node: Aggregate, key: Expression) -> Expression:
    """Return how a window of GROUP BY is selected: Spark names it after the function.

    If the rows have a column of that name, the name means the column; then the call is repeated.
    """
    name = called_function(key)
    if name in {"window", "session_window"} and not _has_column(node.input, name):
        return replace(key, pieces=(name,), raises=False, atomic=True)
    return key


def _has_column(node: Node, name: str) -> bool:
    """Whether a node, or any node below it, has a column of this name."""
    return any(column.name.lower() == name for below in in_order([node]) for column in below.columns)


def _measured(draft: Draft, measure: Measure) -> Expression:
    call = rewrite_within(draft, measure.call)
    if measure.condition is None:
        return call
    condition = rewrite_within(draft, measure.condition)
    return replace(
        call,
        pieces=join_pieces((*call.pieces, " filter (where ", *condition.pieces, ")")),
        deterministic=call.deterministic and condition.deterministic,
        raises=call.raises or condition.raises,
        functions=call.functions + condition.functions,
        variables=variables_of((call, condition)),
        atomic=False,
    )


def fuse_expand(draft: Draft, node: Expand) -> Draft | None:
    """Add LATERAL VIEW; a Python function returns an array of structs, and Spark calls it once a row."""
    if (
        draft.where
        or draft.keys is not None
        or draft.deleted is not None
        or not fits_draft(draft, (node.call,))
    ):
        return None
    if any(must_run_once(expression) for expression in draft.items.values()):
        return None
    if node.function in JOINED_LATERALLY and draft.laterals:
        return None  # no JOIN after a LATERAL VIEW
    call = rewrite_within(draft, node.call)
    if node.python:
        call = replace(call, pieces=join_pieces(("inline(", *call.pieces, ")")))
    alias = unused_name(node.function, draft.aliases)
    columns = {
        column.name: Expression((Ref(column.name, alias),), column.type, column.nullable, atomic=True)
        for column in node.generated
    }
    lateral = Lateral(call, alias, tuple(columns), node.outer)
    return replace(draft, items={**draft.items, **columns}, laterals=(*draft.laterals, lateral))


def fuse_watermark(draft: Draft, node: Watermark) -> Draft | None:
    """Add the watermark to FROM."""
    if not draft.plain:
        return None
    time = draft.items[node.time].column
    assert time is not None
    (source,) = draft.sources
    # Without the barrier, Catalyst pushes conditions below the watermark (PushPredicateThroughNonJoin), also
    # inferred ones (InferFiltersFromConstraints). It would miss rows then, and windows would close later.
    timed = replace(source, watermark=(time, node.delay))
    return replace(draft, sources=(timed,), where=(*draft.where, barrier_condition(node.copy)))


def fuse_join(left: Draft, right: Draft, node: Join | Lookup) -> Draft | None:
    """Join a relation to a SELECT; the right side is a plain relation."""
    if not right.plain or right.deleted is not None:
        return None
    outer = node.kind in {"right", "full"}
    if not left.plain and (outer or left.keys is not None or left.laterals or left.body or left.hint):
        return None
    if any(must_run_once(expression) for expression in left.items.values()) or any(
        not expression.deterministic for expression in left.where
    ):
        return None
    (source,) = right.sources
    alias = unused_name(source.alias, left.aliases)
    sides: Mapping[str, Mapping[str, Expression]] = {
        "left": left.items,
        "right": {name: _aliased(expression, alias) for name, expression in right.items.items()},
    }
    items = {column.name: sides[column.side][column.source] for column in node.joined}
    read = {name for condition in node.on for name in condition.columns}
    if not all(is_free(items[name]) for name in read) or not fits_draft(Draft(items), node.on):
        return None
    conditions = _veiled(node) if isinstance(node, Join) else node.on
    on = tuple(rewrite_within(Draft(items), condition) for condition in conditions)
    kind = node.kind
    if kind in {"inner", "cross"}:
        # Spark has no cross join of streams, even if WHERE joins them: `from a, b where …`.
        kind = "inner" if on or isinstance(node, Join) else "cross"
    broadcast = isinstance(node, Lookup) and node.broadcast
    added = FromSource(source.name, alias, JOINS[kind], on, broadcast=broadcast)
    names = {column.name for column in node.columns}
    return replace(
        left,
        items={name: expression for name, expression in items.items() if name in names},
        sources=(*left.sources, added),
    )


def _veiled(node: Join) -> tuple[Expression, ...]:
    """Prevent Spark from reading `a.value > 1` as a time bound.

    StreamingJoinHelper.getStateValueWatermark reads every comparison of the condition, even one of a side
    with a literal: the state is then never dropped, and rows without a match are never emitted. Catalyst
    pushes such conditions below the join, except those on the preserved side of an outer join.
    """
    if node.kind not in {"left", "right", "full"}:
        return node.on
    sides = {joined.name: joined.side for joined in node.joined}
    return tuple(
        condition
        if len({sides[name] for name in condition.columns}) > 1 or condition.pieces[1:] == (" is not null",)
        # Catalyst removes coalesce and if around a condition that is never NULL, but keeps casts.
        else replace(
            condition,
            pieces=join_pieces(("cast(cast((", *condition.pieces, ") as int) as boolean)")),
            atomic=True,
        )
        for condition in node.on
    )


def _aliased(expression: Expression, alias: str) -> Expression:
    (ref,) = expression.refs
    return replace(expression, pieces=(replace(ref, relation=alias),))


def unused_name(name: str, used: Iterable[str]) -> str:
    return unused_in(name, {other.lower() for other in used})


def unused_in(name: str, folded: AbstractSet[str]) -> str:
    """Add underscores to a name until it is unused; `folded` has the used names in lower case."""
    while name.lower() in folded:
        name += "_"
    return name


def cast_side(expression: Expression, node: Node, index: int) -> Expression:
    """Cast a column of one side of a union to the common type."""
    type_ = node.columns[index].type
    if expression.type == type_:
        return expression
    pieces = ("cast(", *expression.pieces, f" as {type_})")
    return replace(expression, pieces=join_pieces(pieces), type=type_, atomic=True)
