"""Finds keys of tables over tables that all unmatched rows of an outer join share: they are NULL in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from millstream.core.expressions import Expression
from millstream.plan.maintained.outer_joins import HIDDEN, is_possible, nullable_aliases
from millstream.sql.query import Body, Cte, DerivedTable, From, Select, SqlQuery, SqlUnion, names_of


class UnmatchedRows(Struct, frozen=True):
    """The rows of a relation for which an outer join finds no row of another relation."""

    of: str
    """The alias of the relation that has these rows."""
    without: str
    """The alias of the relation that the key comes from."""


def unmatched_rows(query: SqlQuery, keys: Sequence[str]) -> UnmatchedRows | None:
    """Return rows that would all have the same key; None if there are none, or if it is unknown."""
    split = query.at_rest or query
    return _Search(split.ctes).search(split.body, tuple(keys)) if keys else None


class _NeedsOtherError(Exception):
    """Another result is needed first."""

    def __init__(self, body: Body, names: tuple[str, ...]) -> None:
        self.body, self.names = body, names


class _Search:
    """Follows columns into subqueries and CTEs; a CTE that is read many times is looked at once.

    A chain of CTEs can be longer than Python's stack, so the search puts off what needs another result.
    """

    def __init__(self, ctes: Mapping[str, Body]) -> None:
        self._ctes = ctes
        self._results: dict[tuple[int, tuple[str, ...]], UnmatchedRows | None] = {}

    def search(self, body: Body, names: tuple[str, ...]) -> UnmatchedRows | None:
        pending = [(body, names)]
        while pending:
            next_body, next_names = pending[-1]
            try:
                self._results[id(next_body), next_names] = self._rows(next_body, next_names)
                pending.pop()
            except _NeedsOtherError as other:
                pending.append((other.body, other.names))
        return self._results[id(body), names]

    def in_body(self, body: Body, names: tuple[str, ...]) -> UnmatchedRows | None:
        if (id(body), names) not in self._results:
            raise _NeedsOtherError(body, names)
        return self._results[id(body), names]

    def _rows(self, body: Body, names: tuple[str, ...]) -> UnmatchedRows | None:
        match body:
            case Select():
                return self._in_select(body, names)
            case SqlUnion(distinct=False, operator="union"):
                return self._in_union(body, names)
            case _:
                return None

    def _in_union(self, body: SqlUnion, names: tuple[str, ...]) -> UnmatchedRows | None:
        positions = {name.lower(): index for index, name in enumerate(names_of(body))}
        indexes = [positions[name.lower()] for name in names if name.lower() in positions]
        if len(indexes) < len(names):
            return None
        sides = ((side, names_of(side)) for side in body.sides)
        results = (
            self.in_body(side, tuple(columns[i] for i in indexes)) for side, columns in sides if columns
        )
        return next(filter(None, results), None)

    def _in_select(self, query: Select, names: tuple[str, ...]) -> UnmatchedRows | None:
        if query.keys is not None or query.distinct or query.windows or query.sets:
            return None
        items = {item.name.lower(): item.expression for item in query.items}
        if not all(name.lower() in items for name in names):
            return None
        key = [items[name.lower()] for name in names]
        read = frozenset(ref.relation for expression in key for ref in expression.refs)
        if not read or "" in read or any(expression.reads for expression in key):
            return None
        if read <= nullable_aliases(query):
            return None if _read_by_conditions(query, read) else _missing(query, read)
        return self._below(query, key, read)

    def _below(self, query: Select, key: Sequence[Expression], read: frozenset[str]) -> UnmatchedRows | None:
        """Follow the columns of a key into the subquery or CTE that they come from."""
        relation = next((relation for relation in query.relations if {relation.alias} == read), None)
        body = None if relation is None else _body(relation, self._ctes)
        if relation is None or body is None or any(expression.column is None for expression in key):
            return None
        below = dict(zip((name.lower() for name in relation.columns), names_of(body), strict=False))
        names = tuple(below.get(str(expression.column).lower(), "") for expression in key)
        others = [below.get(column.lower(), "") for column in _read_by_conditions(query, read)]
        if not all((*names, *others)) or any(self.in_body(body, (other,)) for other in others):
            return None  # a condition may require a match
        return self.in_body(body, names)


def _missing(query: Select, read: frozenset[str]) -> UnmatchedRows | None:
    others = (
        relation.alias
        for relation in query.relations
        if relation.alias not in read and relation.join not in HIDDEN
    )
    present = next((of for of in others if is_possible(query, frozenset((of,)), read)), None)
    return None if present is None else UnmatchedRows(present, min(read))


def _body(relation: From, ctes: Mapping[str, Body]) -> Body | None:
    match relation.input:
        case Cte(name=name):
            return ctes.get(name)
        case DerivedTable(query=query):
            return query
        case _:
            return None


def _read_by_conditions(query: Select, read: frozenset[str]) -> set[str]:
    """Return the columns of relations that are read by conditions which each row must fulfil."""
    return {
        ref.column for condition in _required(query, read) for ref in condition.refs if ref.relation in read
    }


def _required(query: Select, read: frozenset[str]) -> Iterator[Expression]:
    yield from query.where
    missing = nullable_aliases(query)
    for relation in query.relations:
        if relation.join in HIDDEN or (relation.join == "inner" and not read <= missing):
            yield from relation.on
