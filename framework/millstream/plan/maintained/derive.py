"""Derives how a table is maintained from its SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.core.expressions import Read, quote_name
from millstream.core.node_id import NodeId
from millstream.plan.maintained.affected_keys import relax_columns
from millstream.plan.maintained.names import (
    NotDerivedError,
    RelationNames,
    TableInput,
    relations_of,
    resolve_item,
)
from millstream.plan.maintained.restricted_sql import (
    Keys,
    RestrictedRead,
    filter_keys,
    is_plain,
    restrict_keys,
)
from millstream.plan.maintained.simplified_sql import window_keys
from millstream.plan.maintained.statements import LONGEST
from millstream.plan.maintained.weighted_sql import weigh_rows
from millstream.plan.nodes.maintenance import Maintenance, TouchedKeys, touched_column, view_of
from millstream.sql.query import Body, Select, SqlQuery, SqlUnion


def in_full(query: SqlQuery, relations: Mapping[NodeId, TableInput]) -> Maintenance:
    """Return how a table is maintained by computing all of its rows."""
    parts = []
    for piece in query.text:
        if isinstance(piece, Read):
            parts.append(view_of("now", relations[piece.relation].index))
        else:
            parts.append(piece if isinstance(piece, str) else quote_name(piece.column))
    return Maintenance(tuple(relations), "".join(parts).strip())


def derive_maintenance(
    query: SqlQuery, keys: Sequence[str], relations: Mapping[NodeId, TableInput], *, weights: bool = False
) -> Maintenance:
    """Return how a table is maintained by touched keys; raise `NotDerivedError` if they can't be derived."""
    try:
        return _derive(query, keys, relations, weights=weights)
    except RecursionError:
        body = (query.at_rest or query).body
        why = "the SQL is nested too deeply"
        raise NotDerivedError(why, body.start, body.start + len("select")) from None


def _derive(
    query: SqlQuery, keys: Sequence[str], relations: Mapping[NodeId, TableInput], *, weights: bool
) -> Maintenance:
    split = query.at_rest or query
    names = RelationNames(relations, split.ctes)
    body = split.body
    try:
        by = _by(body, keys, names)
    except NotDerivedError as error:
        names = RelationNames(relations, split.ctes, compares=True)
        try:
            by = _by(body, keys, names)
        except NotDerivedError:
            raise error from None
    relaxed_rows = relax_columns(body, by, names)
    renamed = ", ".join(f"{quote_name(name)} as {touched_column(index)}" for index, name in enumerate(by))
    select = f"select {renamed} from"
    touched = tuple(
        TouchedKeys(change.relation, f"{select} (\n{change.sql.text()}\n)") for change in relaxed_rows.changed
    )
    pairs = [(name, touched_column(index)) for index, name in enumerate(by)]
    maintenance = in_full(query, relations)
    plain = is_plain(body, names)
    rows = _restricted(body, pairs, names) if plain else filter_keys(maintenance.all_rows, pairs)
    by_weights = weigh_rows(body, keys, names) if weights else ""
    return Maintenance(maintenance.relations, maintenance.all_rows, tuple(by), touched, rows, by_weights)


def _restricted(body: Body, by: Keys, names: RelationNames) -> str:
    rows = restrict_keys(body, by, RestrictedRead(names))
    if rows.length > LONGEST:
        why = f"the SQL of their rows would be longer than {LONGEST:,} characters"
        raise NotDerivedError(why, body.start, body.start + len("select"))
    return rows.text()


def _by(body: Body, keys: Sequence[str], names: RelationNames) -> list[str]:
    by = _touched_keys(body, window_keys(body, names), names, required=False)
    return by or _touched_keys(body, keys, names)


def _touched_keys(
    body: Body, keys: Sequence[str], names: RelationNames, *, required: bool = True
) -> list[str]:
    """Return the columns that are known of changed rows; at least one if they are required."""
    touched: list[str] = []
    first: NotDerivedError | None = None
    for key in keys:
        try:
            relax_columns(body, [*touched, key], names)
        except NotDerivedError as error:
            first = first or error
        else:
            if not _is_constant(body, key):
                touched.append(key)
    if touched or not required:
        return touched
    if first is not None:
        raise first
    why = "every change touches all rows: the key is a constant"
    raise NotDerivedError(why, body.start, body.start + len("select"))


def _is_constant(body: Body, key: str) -> bool:
    match body:
        case Select():
            return not relations_of(resolve_item(body, key))
        case SqlUnion():
            return False
        case _:
            return True


def derived_keys(query: SqlQuery) -> tuple[str, ...]:
    """Return the columns that identify a row, if the SQL says so; empty if they have to be declared."""
    body = (query.at_rest or query).body
    match body:
        case Select(sets=sets) if sets:
            return ()
        case Select(keys=None, distinct=True) | Select(distinct=True):
            return tuple(item.name for item in body.items)
        case Select(keys=groups) if groups:
            named = {
                item.expression.column.lower(): item.name
                for item in body.items
                if item.expression.column and not relations_of(item.expression) - {""}
            }
            if all(group.name.lower() in named for group in groups):
                return tuple(named[group.name.lower()] for group in groups)
            return ()
        case SqlUnion(distinct=True):
            first = body.sides[0]
            return tuple(item.name for item in first.items) if isinstance(first, Select) else ()
        case _:
            return ()
