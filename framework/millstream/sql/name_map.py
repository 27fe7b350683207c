"""What each name of a query means, and where it is declared: for editors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from msgspec import Struct
from sqlglot import exp

from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.types import UNKNOWN, Row, Type
from millstream.project.values import Function
from millstream.sql.binder import Binder
from millstream.sql.names import function_name
from millstream.sql.parse import Parsed, parse_sql
from millstream.sql.projection import name_span
from millstream.sql.query import Scan
from millstream.sql.relations import InputRelations
from millstream.sql.result import BoundQuery
from millstream.sql.scope import BoundColumn, Scope, ScopeRelation
from millstream.sql.token_roles import ColumnRole
from millstream.sql.values import InputRelation

NameKind = Literal["relation", "cte", "column", "function"]
_LAST_NAME = re.compile(r"(`[^`]*`|\w+)$")
_FIRST_NAME = re.compile(r"`[^`]*`|\w+")


class SqlName(Struct, frozen=True):
    """A name at `sql[start:stop]`."""

    start: int
    stop: int
    kind: NameKind
    name: str
    node: NodeId = NO_NODE
    """The relation that is read, or that the column belongs to."""
    declared: tuple[int, int] | None = None
    """Where this SQL declares it: the name of a CTE, or of an item of a SELECT list."""
    type: Type = UNKNOWN
    nullable: bool = True
    output: str = ""
    """The column of the whole query that it names."""
    bare: bool = False
    """An item of a SELECT list that is this column, without an alias."""


class NameMap(Struct, frozen=True):
    """The names of a query, in the order of its text."""

    names: tuple[SqlName, ...] = ()
    passed: dict[str, tuple[NodeId, str]] = {}
    """The columns of the result that a star passes on, with what they are."""

    def by_start(self) -> dict[int, SqlName]:
        return {name.start: name for name in self.names if name.kind == "column"}


class _Declaration(NamedTuple):
    node: NodeId
    column: str
    span: tuple[int, int] | None


class ScopeColumn(Struct, frozen=True):
    """A column that an expression can read."""

    name: str
    type: Type
    nullable: bool
    relation: str


class ScopeNames(Struct, frozen=True):
    """The names that can be written at one place of a query."""

    columns: tuple[ScopeColumn, ...] = ()
    relations: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Earlier columns of the same SELECT."""


Find = Callable[[tuple[str, ...]], InputRelation | None]


def map_names(sql: str, relation: Find, functions: Mapping[str, Function]) -> NameMap:
    """Return what the names of a query mean; of SQL that can't be parsed, none is known."""
    bound = _bind(sql, relation, functions)
    return NameMap() if bound is None else _Names(sql, *bound).map()


def names_in_scope(sql: str, position: int, relation: Find, functions: Mapping[str, Function]) -> ScopeNames:
    """Return what can be written instead of the unknown name that begins at `position`."""
    bound = _bind(sql, relation, functions)
    if bound is None:
        return ScopeNames()
    roles = bound[1].findings.marks
    if (unknown := roles.unknown_columns.get(position)) is not None:
        scope, aliases = unknown
    elif (role := roles.references.get(position)) is not None:
        scope, aliases = role.scope, ()
    else:
        return ScopeNames()
    relations = [relation for level in _levels(scope) for relation in level.relations]
    columns = tuple(
        ScopeColumn(column.name, column.type, column.nullable, relation.alias)
        for relation in relations
        for column in relation.columns
        if column.name
    )
    return ScopeNames(columns, tuple(relation.alias for relation in relations if relation.alias), aliases)


def fields_of(type_: Type) -> Iterator[tuple[str, Type]]:
    """Yield the fields of a struct."""
    if isinstance(type_, Row):
        yield from ((field.name, field.type) for field in type_.fields)


def _bind(
    sql: str, relation: Find, functions: Mapping[str, Function]
) -> tuple[Parsed, Binder, BoundQuery] | None:
    parsed = parse_sql(sql)
    if not isinstance(parsed, Parsed):
        return None
    binder = Binder(parsed, sql, InputRelations(relation, list), functions)
    try:
        return parsed, binder, binder.query(parsed.tree)
    except RecursionError:
        return None  # the compiler reports it


def _levels(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


class _Names:
    def __init__(self, sql: str, parsed: Parsed, binder: Binder, result: BoundQuery) -> None:
        self.sql = sql
        self.tree = parsed.tree
        self.roles = binder.findings.marks
        self.selects = binder.selects
        self.result = result
        self.of_scope = {id(select.scope): select for select in binder.selects}
        self.functions = binder.findings.functions

    def map(self) -> NameMap:
        names = [*self._relations(), *self._columns(), *self._functions()]
        ordered = {(name.start, name.stop): name for name in sorted(names, key=lambda name: name.start)}
        return NameMap(tuple(ordered.values()), dict(self._passed()))

    def _relations(self) -> Iterator[SqlName]:
        for start, read in self.roles.relations.items():
            yield SqlName(start, read.stop, "relation", read.id.last_name, read.id)
        declared = [_span(cte.args["alias"].this) for cte in self.tree.find_all(exp.CTE)]
        for span in filter(None, declared):
            yield SqlName(*span, "cte", self._text(*span), declared=span)
        for start in self.roles.ctes:
            word = _FIRST_NAME.match(self.sql, start)
            if word is None:
                continue
            same = [
                span
                for span in declared
                if span and span[0] < start and self._text(*span).lower() == word[0].strip("`").lower()
            ]
            yield SqlName(start, word.end(), "cte", word[0].strip("`"), declared=max(same) if same else None)

    def _text(self, start: int, stop: int) -> str:
        return self.sql[start:stop].strip("`")

    # -- columns

    def _columns(self) -> Iterator[SqlName]:
        items = {item[0]: item for select in self.selects for item in self._items(select)}
        for start, role in self.roles.references.items():
            yield from self._column(start, role, items)
        references = {name_start(self.sql, s, r.stop) for s, r in self.roles.references.items()}
        for start, (_, stop, column, output) in items.items():
            if start not in references:
                name = self._text(start, stop)
                yield SqlName(
                    start, stop, "column", name, declared=(start, stop), type=column.type,
                    nullable=column.nullable, output=output,
                )  # fmt: skip

    def _items(self, select: BoundQuery) -> Iterator[tuple[int, int, BoundColumn, str]]:
        """Yield where the items of a SELECT list are named, and the column of the result that they are."""
        is_result = select.scope is self.result.scope
        for column, item in zip(select.columns, select.origins, strict=False):
            if column.name and not item.is_star:
                start, stop = name_span(item, self.sql)
                if self._text(start, stop).lower() == column.name.lower():
                    yield start, stop, column, column.name if is_result else ""
                elif isinstance(item, exp.Column):
                    begin = name_start(self.sql, start, stop)
                    if self._text(begin, stop).lower() == column.name.lower():
                        yield begin, stop, column, column.name if is_result else ""

    def _column(
        self, start: int, role: ColumnRole, items: Mapping[int, tuple[int, int, BoundColumn, str]]
    ) -> Iterator[SqlName]:
        key, column = role.refs[0]
        begin = name_start(self.sql, start, role.stop)
        name = self._text(begin, role.stop)
        bare = items.get(begin)
        declaration, value = self._declaration(role.scope, key, column, outer=role.outer)
        if begin > start and (relation := self._relation(role.scope, key, outer=role.outer)) is not None:
            first = _FIRST_NAME.match(self.sql, start)
            if first is not None and isinstance(relation.input, Scan):
                yield SqlName(
                    start, first.end(), "relation", self._text(*first.span()), relation.input.relation
                )
        yield SqlName(
            begin,
            role.stop,
            "column",
            declaration.column if declaration.node else name,
            declaration.node,
            declaration.span,
            value.type if value else UNKNOWN,
            value.nullable if value else True,
            bare[3] if bare else "",
            bare is not None,
        )

    def _relation(self, scope: Scope, key: str, *, outer: bool = False) -> ScopeRelation | None:
        levels = list(_levels(scope))
        for level in levels[1:] if outer else levels:
            for joined in level.joined:
                if joined.relation.key == key:
                    return joined.relation
        return None

    def _declaration(
        self, scope: Scope, key: str, column: str, *, outer: bool = False
    ) -> tuple[_Declaration, BoundColumn | None]:
        nowhere = _Declaration(NO_NODE, "", None)
        if not key:
            select = self.of_scope.get(id(scope))
            return (nowhere, None) if select is None else self._of_select(select, column)
        relation = self._relation(scope, key, outer=outer)
        if relation is None:
            return nowhere, None
        names = [relation.name_within(bound).lower() for bound in relation.columns]
        if column.lower() not in names:
            node = relation.input.relation if isinstance(relation.input, Scan) else NO_NODE
            return _Declaration(node, column, None), None
        index = names.index(column.lower())
        value = relation.columns[index]
        if isinstance(relation.input, Scan):
            written = relation.renamed[index] if index < len(relation.renamed) else value.name
            return _Declaration(relation.input.relation, written, None), value
        if isinstance(relation.query, BoundQuery):
            return self._declared_by(relation.query, index), value
        return nowhere, value

    def _of_select(self, select: BoundQuery, column: str) -> tuple[_Declaration, BoundColumn | None]:
        for index, bound in enumerate(select.columns):
            if bound.name.lower() == column.lower():
                return self._declared_by(select, index), bound
        return _Declaration(NO_NODE, "", None), None

    def _declared_by(self, query: BoundQuery, index: int) -> _Declaration:
        """Return where a column of a query is declared; a star passes it on."""
        if index >= len(query.origins):
            return _Declaration(NO_NODE, "", None)
        item = query.origins[index]
        if not item.is_star:
            start, stop = name_span(item, self.sql)
            begin = name_start(self.sql, start, stop) if isinstance(item, exp.Column) else start
            return _Declaration(NO_NODE, "", (begin, stop))
        outputs = query.scope.outputs if query.scope is not None else []
        if index >= len(outputs) or not outputs[index].refs or query.scope is None:
            return _Declaration(NO_NODE, "", None)
        return self._declaration(query.scope, *outputs[index].refs[0])[0]

    def _passed(self) -> Iterator[tuple[str, tuple[NodeId, str]]]:
        by_start: dict[int, SqlName] | None = None
        for index, column in enumerate(self.result.columns):
            if index >= len(self.result.origins) or not self.result.origins[index].is_star:
                continue
            declaration = self._declared_by(self.result, index)
            if declaration.span is not None:
                if by_start is None:
                    by_start = {name.start: name for name in self._columns()}
                declaration = follow(by_start, declaration)
            if declaration.node:
                yield column.name, (declaration.node, declaration.column)

    # -- functions

    def _functions(self) -> Iterator[SqlName]:
        for call in self.tree.find_all(exp.Anonymous):
            start, name = call.meta.get("start"), function_name(call)
            if start is not None and self.sql[start : start + len(name)].lower() == name:
                yield SqlName(start, start + len(name), "function", name)


def follow(by_start: Mapping[int, SqlName], declaration: _Declaration) -> _Declaration:
    """Return what a column is that items of SELECT lists only pass on under its own name."""
    seen: set[int] = set()
    while declaration.span is not None and declaration.span[0] not in seen:
        seen.add(declaration.span[0])
        name = by_start.get(declaration.span[0])
        if name is None or not name.bare:
            break
        declaration = _Declaration(name.node, name.name if name.node else "", name.declared)
    return declaration


def root_of(by_start: Mapping[int, SqlName], name: SqlName) -> tuple[NodeId, str, tuple[int, int] | None]:
    """Return the column of another relation that a name means, or where this SQL computes it."""
    return follow(by_start, _Declaration(name.node, name.name if name.node else "", name.declared))


def name_start(sql: str, start: int, stop: int) -> int:
    """Return where the last name of `alias.column` begins."""
    last = _LAST_NAME.search(sql[start:stop])
    return start if last is None else start + last.start()


def _span(node: exp.Expr) -> tuple[int, int] | None:
    start, end = node.meta.get("start"), node.meta.get("end")
    return None if start is None or end is None else (start, end + 1)
