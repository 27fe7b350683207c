"""SQL that computes only the rows with touched keys.

A condition on a key of a group, or of a row, can be applied before the rows are grouped: no other row has a
part in these. The same keys are looked up in each input that is compared with them by `=`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from millstream.core.expressions import Expression, Ref, quote_name, render_sql
from millstream.core.types import Type
from millstream.plan.maintained.names import (
    NotDerivedError,
    RelationNames,
    compared_relations,
    opaque_error,
    output_names,
    renamed_columns,
    resolve_item,
)
from millstream.plan.maintained.outer_joins import HIDDEN, nullable_aliases
from millstream.plan.maintained.statements import SqlText, join_sql, separate_sql
from millstream.plan.nodes.maintenance import TOUCHED, view_of
from millstream.sql.query import Body, From, OpaqueBody, Scan, Select, SqlUnion

Keys = Sequence[tuple[str, str]]
"""Columns of a query, and the columns of `TOUCHED` that have their touched values."""

_KEYS = "_millstream_keys"
_JOINS = {None: "cross join", "semi": "left semi join", "anti": "left anti join"}


class RestrictedRead(Struct, frozen=True):
    """Which rows of the inputs are read, and for which keys."""

    names: RelationNames
    view: Literal["now", "before"] = "now"
    touched: str | SqlText = TOUCHED
    """The touched keys: a view, or SQL in parentheses."""


def restrict_keys(body: Body, by: Keys, read: RestrictedRead) -> SqlText:
    """Return the SQL of a query with all of its columns, and only the rows with touched keys."""
    cache_key = (tuple(by), read.view, read.touched)
    return read.names.once("restricted", body, cache_key, lambda: _restricted(body, by, read))


def _restricted(body: Body, by: Keys, read: RestrictedRead) -> SqlText:
    match body:
        case Select():
            return _select(body, by, read)
        case SqlUnion():
            first = [column.lower() for column in output_names(body)]
            positions = [(first.index(name.lower()), touched) for name, touched in by]
            sides = []
            for side in body.sides:
                side_columns = output_names(side)
                rows = restrict_keys(
                    side, [(side_columns[position], touched) for position, touched in positions], read
                )
                sides.append(join_sql("(", rows, ")"))
            return separate_sql(f"\nunion{'' if body.distinct else ' all'}\n", sides)
        case OpaqueBody():
            raise opaque_error(body)


def is_plain(body: Body, names: RelationNames) -> bool:
    """Return whether a query has no window functions, subqueries and the like, at any depth."""
    return names.once("is_plain", body, (), lambda: _is_plain(body, names))


def _is_plain(body: Body, names: RelationNames) -> bool:
    match body:
        case Select():
            inner = [
                inner_body for relation in body.relations if (inner_body := names.body(relation)) is not None
            ]
            special = body.windows or body.sets or body.subqueries
            return not special and all(is_plain(inner_body, names) for inner_body in inner)
        case SqlUnion():
            return body.operator == "union" and all(is_plain(side, names) for side in body.sides)
        case OpaqueBody():
            raise opaque_error(body)


def filter_keys(sql: str, by: Keys) -> str:
    """Return the rows of a query with touched keys; Spark moves the join to where it reads fewer rows."""
    on = " and ".join(f"_millstream_rows.{quote_name(name)} <=> {_KEYS}.{touched}" for name, touched in by)
    return f"select * from (\n{sql}\n) as _millstream_rows left semi join {TOUCHED} as {_KEYS} on {on}"  # noqa: S608 -- names are quoted


def _select(query: Select, by: Keys, read: RestrictedRead) -> SqlText:
    keys = [(resolve_item(query, name), touched) for name, touched in by]
    pushed = _pushed(query, keys, read.names)
    lines = [_from(query, pushed, read)]
    if keys:
        on = " and ".join(f"{_KEYS}.{touched} <=> ({render_sql(key)})" for key, touched in keys)
        lines.append(join_sql("left semi join ", read.touched, f" as {_KEYS} on {on}"))
    if query.where:
        lines.append(join_sql("where " + _all(query.where)))
    distinct = "distinct " if query.distinct else ""
    items = ", ".join(f"{render_sql(item.expression)} as {quote_name(item.name)}" for item in query.items)
    if query.keys is None:
        return separate_sql("\n", [f"select {distinct}{items}", *lines])
    columns = [f"{render_sql(key.expression)} as {quote_name(key.name)}" for key in query.keys]
    for measure in query.measures:
        only = f" filter (where {render_sql(measure.condition)})" if measure.condition is not None else ""
        columns.append(f"{render_sql(measure.call)}{only} as {quote_name(measure.name)}")
    groups = ", ".join(str(index + 1) for index, _ in enumerate(query.keys))
    inner: list[str | SqlText] = [f"select {', '.join(columns) or '1'}", *lines]
    inner += [f"group by {groups}"] if groups else []
    having = [f"where {_all(query.having)}"] if query.having else []
    return separate_sql("\n", [f"select {distinct}{items} from (", *inner, ")", *having])  # noqa: S608 -- names are quoted


def _all(conditions: Sequence[Expression]) -> str:
    return " and ".join(f"({render_sql(condition)})" for condition in conditions)


def _from(query: Select, pushed: Mapping[str, list[tuple[str, str]]], read: RestrictedRead) -> SqlText:
    parts: list[str | SqlText] = []
    for index, relation in enumerate(query.relations):
        source = _source(relation, pushed.get(relation.alias, []), read)
        if not index:
            parts += ["from ", source]
            continue
        on = " on " + _all(relation.on) if relation.on else ""
        kind = _JOINS.get(relation.join, f"{relation.join} join")
        parts += [f"\n{'inner join' if kind == 'cross join' and on else kind} ", source, on]
    return join_sql(*parts)


def _source(relation: From, keys: list[tuple[str, str]], read: RestrictedRead) -> SqlText:
    names = read.names
    body = names.body(relation)
    if body is not None:
        source_keys = [(names.source(relation, name), touched) for name, touched in keys]
        rows = restrict_keys(body, [pair for pair in source_keys if _is_key(body, pair[0], names)], read)
        pairs = zip(output_names(body), relation.columns, strict=False)
        renamed = ", ".join(f"{quote_name(source)} as {quote_name(name)}" for source, name in pairs)
        return join_sql(f"(select {renamed} from (", rows, f")) as {quote_name(relation.alias)}")  # noqa: S608 -- names are quoted
    assert isinstance(relation.input, Scan)
    view = view_of(read.view, names.relations[relation.input.relation].index)
    select = join_sql(f"(select {renamed_columns(relation, names)} from {view}")  # noqa: S608 -- names are quoted
    if keys:
        on = " and ".join(
            f"{_KEYS}.{touched} <=> {view}.{quote_name(names.source(relation, name))}"
            for name, touched in keys
        )
        select = join_sql(select, " left semi join ", read.touched, f" as {_KEYS} on {on}")
    return join_sql(select, f") as {quote_name(relation.alias)}")


def _is_key(body: Body, name: str, names: RelationNames) -> bool:
    """Return whether rows of a query can be left out by a column before its aggregates are computed."""
    match body:
        case Select():
            try:
                resolve_item(body, name)
            except NotDerivedError:
                return False
            return True
        case SqlUnion():
            position = [column.lower() for column in output_names(body)].index(name.lower())
            return all(_is_key(side, output_names(side)[position], names) for side in body.sides)
        case OpaqueBody():
            return False


def _pushed(
    query: Select, keys: Sequence[tuple[Expression, str]], names: RelationNames
) -> dict[str, list[tuple[str, str]]]:
    """Return the columns of each relation that must have touched values.

    A relation that an outer join can leave without a match is only restricted by what it is compared with:
    without its own row, the row of the other side would have no match, instead of no part in the result.
    """
    by_alias = {relation.alias: relation for relation in query.relations}
    optional = nullable_aliases(query)
    restrictions: dict[tuple[str, str, str], None] = {}
    waiting: list[tuple[str, str, str]] = []

    def add(ref: Ref, touched: str, type_: Type) -> None:
        restriction = (ref.relation, ref.column.lower(), touched)
        if restriction not in restrictions and names.type(by_alias[ref.relation], ref.column) == type_:
            restrictions[restriction] = None
            waiting.append(restriction)

    for expression, touched in keys:
        ref = expression.pieces[0]
        if expression.column and isinstance(ref, Ref) and ref.relation not in optional:
            add(ref, touched, expression.type)
    compared = [
        (relation, pair)
        for relation in query.relations
        for c in relation.on
        if (pair := compared_relations(c))
    ]
    while waiting:
        alias, column, touched = waiting.pop(0)
        if alias in optional or by_alias[alias].join in HIDDEN:
            continue
        column_type = names.type(by_alias[alias], column)
        for relation, (one, other) in compared:
            for here, there in ((one, other), (other, one)):
                if (
                    here.relation == alias
                    and here.column.lower() == column
                    and _implies(relation, here, there)
                ):
                    add(there, touched, column_type)
    result: dict[str, list[tuple[str, str]]] = {}
    for alias, column, touched in restrictions:
        pairs = result.setdefault(alias, [])
        if touched not in {pushed for _, pushed in pairs}:
            pairs.append((column, touched))
    return result


def _implies(relation: From, here: Ref, there: Ref) -> bool:
    """Return whether rows of `there` only matter if they equal `here`, by a condition in ON of a relation.

    A condition of an outer, semi or anti join decides whether that relation has a match, and nothing else.
    """
    match relation.join:
        case "inner" | "cross":
            return True
        case "right":
            return here.relation == relation.alias
        case "full":
            return False
        case _:
            return there.relation == relation.alias
