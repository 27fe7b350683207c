"""Simpler SELECTs that touch at least the same keys.

Touched keys only need the columns that identify rows, of at least the rows that a change can touch. So joins
and unions, which are followed from changed rows to keys, can replace each of these constructs:

- A subquery: its changed rows touch the rows that it is compared with by `=`, as those of a semi join do.
- ROLLUP, CUBE and GROUPING SETS: a union with one SELECT for each set.
- A window function: a changed row touches all rows of its partition, so the rows are joined with themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, replace_columns
from millstream.core.types import BOOLEAN
from millstream.plan.maintained.names import (
    NotDerivedError,
    RelationNames,
    canonical_text,
    contains_offset,
    output_names,
    resolve_item,
    scanned_inputs,
)
from millstream.plan.maintained.versions import can_differ
from millstream.sql.query import OUTER, Body, DerivedTable, From, Select, SelectItem, SqlUnion, Subquery
from millstream.sql.trees import ColumnTree, OperatorTree, OtherTree, tree_of

_ROWS, _PEERS, _PART, _INNER = (
    "_millstream_rows",
    "_millstream_peers",
    "_millstream_part",
    "_millstream_inner",
)
_EVERY = "a change of what this subquery reads could touch every row"


def simplify_query(query: Select, columns: Collection[str], names: RelationNames) -> Body:
    """Return a query without subqueries, grouping sets and window functions.

    Its columns of these names have at least the values that rows had before or have after a change.
    """
    column_names = tuple(columns)
    return names.once("simplified", query, column_names, lambda: _simplified(query, column_names, names))


def _simplified(query: Select, columns: Collection[str], names: RelationNames) -> Body:
    if query.windows:
        return _with_peers(query, columns)
    if query.sets:
        return _by_set(query)
    return _with_inner(query, names)


# -- window functions


def window_keys(body: Body, names: RelationNames) -> list[str]:
    """Return the columns of a query by which all of its window functions are partitioned."""
    return names.once("window_keys", body, (), lambda: _window_keys(body, names))


def _window_keys(body: Body, names: RelationNames) -> list[str]:
    match body:
        case Select() if body.windows:
            return _partition_columns(body)
        case Select(sets=()):
            return [
                item.name
                for item in body.items
                for ref in item.expression.refs
                if item.expression.column
                for relation in body.relations
                if relation.alias == ref.relation and (inner := names.body(relation)) is not None
                if names.source(relation, ref.column) in window_keys(inner, names)
            ]
        case _:
            return []


def _partition_columns(query: Select) -> list[str]:
    partitions = [
        {canonical_text(query, expression) for expression in window.partition} for window in query.windows
    ]
    return [
        item.name
        for item in query.items
        if all(canonical_text(query, item.expression) in partition for partition in partitions)
    ]


def _with_peers(query: Select, columns: Collection[str]) -> Select:
    plain = replace(query, windows=(), distinct=False)
    if {name.lower() for name in columns} <= {name.lower() for name in _partition_columns(query)}:
        return plain
    for window in query.windows:
        if not window.partition:
            why = "a window function without PARTITION BY reads all rows"
            raise NotDerivedError(why, window.start, window.stop)
    for name in columns:
        resolve_item(query, name)
    parts = {expression.text: expression for window in query.windows for expression in window.partition}
    names = {text: f"{_PART}_{index}" for index, text in enumerate(parts)}
    items = (*query.items, *(SelectItem(names[text], expression) for text, expression in parts.items()))
    inner = replace(plain, items=items)
    relations = [From(_ROWS, DerivedTable(inner), output_names(inner), start=query.start, stop=query.stop)]
    together = {
        tuple(dict.fromkeys(expression.text for expression in window.partition)) for window in query.windows
    }
    for index, texts in enumerate(sorted(together)):
        alias = f"{_PEERS}_{index}"
        on = tuple(_compared(Ref(names[text], alias), " <=> ", Ref(names[text], _ROWS)) for text in texts)
        relations.append(
            From(
                alias,
                DerivedTable(inner),
                output_names(inner),
                "semi",
                on,
                start=query.start,
                stop=query.stop,
            )
        )
    read = tuple(
        SelectItem(item.name, Expression((Ref(item.name, _ROWS),), item.expression.type, atomic=True))
        for item in query.items
    )
    return Select(read, tuple(relations), start=query.start, stop=query.stop)


# -- grouping sets


def _by_set(query: Select) -> SqlUnion:
    keys = query.keys or ()
    types = {key.name.lower(): key.expression.type for key in keys}
    sides = []
    for grouping_set in query.sets:
        named = {name.lower() for name in grouping_set}

        def missing(ref: Ref, named: Collection[str] = named) -> Expression | None:
            if ref.relation or ref.column.lower() not in types or ref.column.lower() in named:
                return None
            of = types[ref.column.lower()]
            return Expression((f"cast(null as {of})",), of, atomic=True)

        items = tuple(
            SelectItem(item.name, replace_columns(item.expression, missing)) for item in query.items
        )
        set_keys = tuple(key for key in keys if key.name.lower() in named)
        sides.append(replace(query, items=items, keys=set_keys, having=(), sets=()))
    return SqlUnion(tuple(sides), start=query.start, stop=query.stop)


# -- subqueries


def _with_inner(query: Select, names: RelationNames) -> Select:
    starts = [subquery.start for subquery in query.subqueries]
    conditions = [*query.where, *query.having, *(c for relation in query.relations for c in relation.on)]
    relations = [replace(relation, on=_without(relation.on, starts)) for relation in query.relations]
    for index, subquery in enumerate(query.subqueries):
        if subquery.body is None:
            raise NotDerivedError("this subquery is not analyzed", subquery.start, subquery.stop)
        if not _changes(subquery.body, names):
            continue
        around = next((c for c in conditions if contains_offset(c, [subquery.start])), None)
        relations.append(_inner(subquery, subquery.body, f"{_INNER}_{index}", around, names))
    where = _without(query.where, starts)
    return replace(query, relations=tuple(relations), where=where, having=(), subqueries=())


def _without(conditions: Sequence[Expression], starts: Collection[int]) -> tuple[Expression, ...]:
    return tuple(c for c in conditions if not contains_offset(c, starts))


def _changes(body: Body, names: RelationNames) -> bool:
    """Return whether a query reads more than seeds, of which a change computes all rows."""
    return any(relation.kind != "seed" for relation in scanned_inputs(body, names))


def _inner(
    subquery: Subquery, body: Body, alias: str, around: Expression | None, names: RelationNames
) -> From:
    """Return a subquery as a relation of its enclosing SELECT, which has no columns in its result."""
    by_rows = isinstance(body, Select) and not (body.windows or body.sets)
    on: list[Expression] = []
    items: list[SelectItem] = []
    for left, name in zip(subquery.left, output_names(body), strict=False):
        here, there = left.pieces[0], Ref(f"{_PART}_{len(items)}" if by_rows else name, alias)
        assert isinstance(here, Ref)
        certain = _is_member(around) or not (left.nullable or _nullable(body, name))
        on.append(_compared(here, " = ", there) if certain else _maybe_equal(here, there))
        if by_rows and isinstance(body, Select):
            items.append(SelectItem(there.column, resolve_item(body, name)))
    if by_rows and isinstance(body, Select):
        for inner_ref, sign, theirs in filter(None, map(_outer_equality, body.where)):
            relation = next(relation for relation in body.relations if relation.alias == inner_ref.relation)
            name = f"{_PART}_{len(items)}"
            items.append(
                SelectItem(
                    name, Expression((inner_ref,), names.type(relation, inner_ref.column), atomic=True)
                )
            )
            on.append(_compared(theirs, sign, Ref(name, alias)))
        inner_body: Body = Select(
            tuple(items),
            tuple(replace(relation, on=_independent(relation.on)) for relation in body.relations),
            _independent(body.where),
            subqueries=body.subqueries,
            start=body.start,
            stop=body.stop,
        )
    else:
        inner_body = body
    if not on:
        if not names.compares or _reads_outer(body) or not can_differ(body, names):
            raise NotDerivedError(_EVERY, subquery.start, subquery.stop)
        inner_body = body
    if _reads_outer(inner_body):
        why = "this subquery reads the enclosing query elsewhere than in its own WHERE"
        raise NotDerivedError(why, subquery.start, subquery.stop)
    return From(
        alias,
        DerivedTable(inner_body),
        output_names(inner_body),
        "semi",
        tuple(on),
        start=subquery.start,
        stop=subquery.stop,
    )


def _nullable(body: Body, name: str) -> bool:
    match body:
        case Select():
            return next(item.expression.nullable for item in body.items if item.name == name)
        case _:
            return True


def _is_member(condition: Expression | None) -> bool:
    """Return whether a condition is just `x in (select …)`: a NULL of the subquery then has no effect."""
    tree = None if condition is None else tree_of(condition)
    return isinstance(tree, OtherTree) and tree.kind == "in subquery"


def _compared(one: Ref, sign: str, other: Ref) -> Expression:
    return Expression((one, sign, other), BOOLEAN)


def _maybe_equal(one: Ref, other: Ref) -> Expression:
    """Return a condition for NOT IN, whose result a NULL on either side changes for every row."""
    return Expression(("(", one, " = ", other, " or ", one, " is null or ", other, " is null)"), BOOLEAN)


def _outer_equality(condition: Expression) -> tuple[Ref, str, Ref] | None:
    """Return the column, the sign, and the column of the enclosing query that a condition compares."""
    match tree_of(condition):
        case OperatorTree(("=" | "<=>") as sign, (ColumnTree(one), ColumnTree(other))):
            inner = [ref for ref in (one, other) if not ref.relation.startswith(OUTER)]
            outer = [ref for ref in (one, other) if ref.relation.startswith(OUTER)]
            if len(inner) == len(outer) == 1 and inner[0].relation:
                return inner[0], f" {sign} ", Ref(outer[0].column, outer[0].relation.removeprefix(OUTER))
    return None


def _independent(conditions: Sequence[Expression]) -> tuple[Expression, ...]:
    return tuple(c for c in conditions if not any(ref.relation.startswith(OUTER) for ref in c.refs))


def _reads_outer(body: Body) -> bool:
    """Return whether a query, or a query in its FROM, reads a column of an enclosing one."""
    match body:
        case Select():
            expressions = [item.expression for item in (*body.items, *(body.keys or ()))]
            expressions += [
                *body.where,
                *body.having,
                *(c for relation in body.relations for c in relation.on),
            ]
            expressions += [measure.call for measure in body.measures]
            return any(
                ref.relation.startswith(OUTER) for expression in expressions for ref in expression.refs
            ) or any(
                _reads_outer(relation.input.query)
                for relation in body.relations
                if isinstance(relation.input, DerivedTable)
            )
        case SqlUnion():
            return any(map(_reads_outer, body.sides))
        case _:
            return False
