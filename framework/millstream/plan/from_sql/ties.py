"""Warns about window functions whose value depends on which of several equal rows comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millstream.core.expressions import Expression, Ref, quote_name
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import ModelSpec, PlanDiagnostic
from millstream.plan.from_sql.versions import selects_of
from millstream.sql.query import Cte, DerivedTable, From, Scan, Select, SqlQuery
from millstream.sql.trees import compared_columns

UniqueBy = Callable[[NodeId], tuple[str, ...]]
"""Returns the columns that identify a row of a relation; none if they are unknown."""


def check_ties(spec: ModelSpec, unique_by: UniqueBy) -> Iterator[PlanDiagnostic]:
    """Yield a warning for each window function over rows whose order is not known to be unique."""
    query = spec.query.at_rest or spec.query
    for select in selects_of(query):
        for window in select.windows:
            missing = _missing(select, window.order, query, unique_by) if window.order is not None else set()
            if window.order is None or missing == set():
                continue
            key = ", ".join(sorted(missing)) if missing else "a column that makes it unique"
            message = (
                "rows that ORDER BY leaves equal are in any order here, and a rerun can give other values"
            )
            remedy = f"add {key} to the end of ORDER BY"
            yield PlanDiagnostic(
                "MS549", message, remedy, spec.id, window.start, window.stop, severity="warning"
            )


def _missing(select: Select, order: tuple[Ref, ...], query: SqlQuery, unique_by: UniqueBy) -> set[str] | None:
    """Return the columns that would make an order unique; empty if it is, and None if no key is known."""
    ordered = {(ref.relation.lower(), ref.column.lower()) for ref in order}
    if select.sets or select.distinct:
        return None
    if select.keys is not None:
        refs = [_column(item.expression) for item in select.keys]
        return (
            None
            if None in refs
            else {quote_name(ref.column) for ref in refs if ref and _name(ref) not in ordered}
        )
    missing: set[str] = set()
    for number, relation in enumerate(select.relations):
        key = _key(relation, query, unique_by)
        if relation.join in {"semi", "anti"} or (number and key and _is_looked_up(relation, key)):
            continue
        if not key:
            return None
        alias = f"{relation.alias}." if len(select.relations) > 1 else ""
        missing |= {
            alias + quote_name(column)
            for column in key
            if (relation.alias.lower(), column.lower()) not in ordered
        }
    return missing


def _key(relation: From, query: SqlQuery, unique_by: UniqueBy) -> tuple[str, ...]:
    """Return the columns that identify a row of a relation in FROM; none if they are unknown."""
    match relation.input:
        case Scan(relation=id_):
            key = unique_by(id_)
            names = {column.lower() for column in relation.columns}
            return key if names.issuperset(column.lower() for column in key) else ()
        case Cte(name=name):
            body = query.ctes.get(name)
        case DerivedTable(query=body):
            pass
        case _:
            body = None
    if not isinstance(body, Select) or len(body.items) != len(relation.columns):
        return ()
    names_of = {
        _name(ref): column
        for item, column in zip(body.items, relation.columns, strict=True)
        if (ref := _column(item.expression)) is not None
    }
    inner = _identifying(body, query, unique_by)
    return tuple(names_of[name] for name in inner) if inner and names_of.keys() >= set(inner) else ()


def _identifying(select: Select, query: SqlQuery, unique_by: UniqueBy) -> list[tuple[str, str]]:
    """Return the columns, with their relations, that identify a row of a SELECT without joins."""
    if select.sets or select.distinct:
        return []
    if select.keys is not None:
        return [("", item.name.lower()) for item in select.keys]  # as items of a SELECT with groups name them
    if len(select.relations) != 1:
        return []
    (relation,) = select.relations
    return [(relation.alias.lower(), column.lower()) for column in _key(relation, query, unique_by)]


def _column(expression: Expression) -> Ref | None:
    """Return the column that an expression is, if it is nothing else."""
    (piece, *others) = expression.pieces
    return piece if isinstance(piece, Ref) and not others else None


def _name(ref: Ref) -> tuple[str, str]:
    return ref.relation.lower(), ref.column.lower()


def _is_looked_up(relation: From, key: tuple[str, ...]) -> bool:
    """Return whether a join finds at most one row: it compares the key by `=`."""
    alias = relation.alias.lower()
    compared = {
        _name(ref)
        for condition in relation.on
        if (sides := compared_columns(condition)) is not None
        for ref, other in (sides, sides[::-1])
        if other.relation.lower() != alias
    }
    return all((alias, column.lower()) in compared for column in key)
