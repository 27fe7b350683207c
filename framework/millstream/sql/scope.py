"""Which columns a name can mean at a place of a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from millstream.expressions import Expression
from millstream.sql.query import Cte, Derived, JoinKind, Scan
from millstream.sql.values import Kind, Source
from millstream.types import UNKNOWN, Type

Refs = tuple[tuple[str, str], ...]
"""Columns by relation and name, of which the first that is not NULL counts; mostly one."""
NOTHING: frozenset[Source] = frozenset()


def as_kind(sources: frozenset[Source], kind: Kind) -> frozenset[Source]:
    """Return the same columns with another kind of influence; only direct ones become `computed`."""
    if kind == "computed":
        if all(source[2] != "direct" for source in sources):
            return sources
        return frozenset(
            (node, column, "computed" if how == "direct" else how) for node, column, how in sources
        )
    return frozenset((node, column, kind) for node, column, _ in sources)


class Bound(Struct, gc=False):
    """A column in scope: what it is and where its value comes from."""

    name: str
    type: Type
    nullable: bool
    sources: frozenset[Source]
    hidden: bool = False


class Relation(Struct):
    """One relation of a FROM clause, under its alias."""

    alias: str
    columns: list[Bound]
    open: str = ""
    """The node id when columns that are not listed may exist too; `?` when there is none."""
    path: tuple[str, ...] = ()
    """What comes before its name, `models` of `models.orders`, while it has no alias."""
    taken: dict[str, Bound] = field(default_factory=dict)
    """Columns of an open relation that were taken as given."""
    key: str = ""
    """What tells it from the others of its SELECT."""
    input: Scan | Cte | Derived | None = None
    renamed: tuple[str, ...] = ()
    """The columns of `input`, where the alias names them anew."""
    call: Any = None
    """The call that makes it, instead of an input: a node of the tree."""

    def find(self, folded: str) -> Bound | None:
        for column in self.columns:
            if column.name.lower() == folded:
                return column
        return None

    def taken_as_given(self, name: str) -> Bound | None:
        return self.take(name) if self.open else None

    def take(self, name: str) -> Bound:
        """Take a column of a relation that is not known in full as given."""
        sources: frozenset[Source] = frozenset({(self.open, name, "direct")}) if self.open != "?" else NOTHING
        bound = Bound(name, UNKNOWN, True, sources)
        return self.taken.setdefault(name.lower(), bound)


class Joined(Struct):
    """How a relation came into its SELECT."""

    relation: Relation
    join: JoinKind | None = None
    on: bool = False
    """It has a condition of its own."""
    equal: tuple[Expression, ...] = ()
    """What USING and NATURAL mean."""
    outer: bool = False
    comma: bool = False
    listed: bool = False
    """Made by a call in the SELECT list, not in FROM."""


class Output(Struct, gc=False):
    """What a column of a SELECT is."""

    item: int
    """The place in the SELECT list."""
    refs: Refs = ()
    """The column that it is, of a star or of what a call makes; else it is cut out of the text."""
    path: str = ""
    """The fields after it, `.sku`."""


class Scope:
    """The relations of one SELECT, within those of the query around it."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.relations: list[Relation] = []
        self.merged: dict[str, Bound] = {}
        """Columns of USING, which exist once for both sides."""
        self.sides: dict[str, Refs] = {}
        """Where each of those comes from."""
        self.reads: set[str] = set()
        """The models, seeds and topics below its FROM clause, by node id."""
        self.joined: list[Joined] = []
        """All relations as they were written, also those that semi joins hide."""
        self.outputs: list[Output] = []
        self._by_name: dict[str, list[tuple[Relation, Bound]]] | None = None

    def add(self, relation: Relation) -> None:
        self.join(relation)
        self.relations.append(relation)
        self._by_name = None

    def join(self, relation: Relation, *, listed: bool = False) -> None:
        """Take a relation in, without giving its columns names."""
        used = {each.relation.key.lower() for each in self.joined}
        relation.key = unused(relation.alias or "rows", used)
        self.joined.append(Joined(relation, listed=listed))

    def refs(self, relation: Relation, column: Bound) -> Refs:
        """Return where a column of this scope comes from."""
        if self.merged and self.merged.get(folded := column.name.lower()) is column:
            return self.sides[folded]
        return ((relation.key, column.name),)

    def remove(self, relation: Relation) -> None:
        self.relations.remove(relation)
        self._by_name = None

    def outer(self, relations: list[Relation]) -> None:
        """Let every column of relations be NULL, as an outer join does."""
        for relation in relations:
            relation.columns = [nullable(column) for column in relation.columns]
        self._by_name = None

    def relation(self, alias: str) -> Relation | None:
        folded = alias.lower()
        return next((r for r in self.relations if r.alias.lower() == folded), None)

    def qualified(self, names: list[str]) -> tuple[list[tuple[Relation, Bound]], int]:
        """Return what `alias.column` or `models.alias.column` means, and how many names that took."""
        folded = [name.lower() for name in names]
        for relations, size in ((self._aliased(folded[:size]), size) for size in range(1, len(names))):
            found = [
                (r, c) for r in relations if (c := r.find(folded[size]) or r.taken_as_given(names[size]))
            ]
            if found:
                return found, size + 1
        return [], 0

    def _aliased(self, folded: list[str]) -> list[Relation]:
        found = [r for r in self.relations if r.alias.lower() == folded[-1]]
        before = tuple(folded[:-1])
        return (
            [r for r in found if tuple(map(str.lower, r.path[-len(before) :])) == before] if before else found
        )

    def named(self, folded: str) -> list[tuple[Relation, Bound]]:
        """Return every column of this name, once for a USING."""
        if self._by_name is None:
            self._by_name = {}
            for relation in self.relations:
                for column in relation.columns:
                    self._by_name.setdefault(column.name.lower(), []).append((relation, column))
        found = self._by_name.get(folded, [])
        if found and folded in self.merged:
            return [(found[0][0], self.merged[folded])]
        if not found:
            return [(r, r.take(folded)) for r in self.relations if r.open]
        return found

    def star(self) -> Iterator[tuple[Relation, Bound]]:
        """Yield the columns of `*`: those of USING first, then each relation's others."""
        for column in self.merged.values():
            yield self.relations[0], column
        for relation in self.relations:
            for column in relation.columns:
                if not column.hidden and column.name.lower() not in self.merged:
                    yield relation, column

    def names(self) -> list[str]:
        """Return all column names, to guess what a misspelt one was meant to be."""
        own = [column.name for relation in self.relations for column in relation.columns]
        return own + (self.parent.names() if self.parent else [])


def nullable(column: Bound) -> Bound:
    return column if column.nullable else Bound(column.name, column.type, True, column.sources, column.hidden)


def unused(name: str, used: set[str]) -> str:
    """Return a name that is not taken; `used` is in lower case."""
    found, count = name, 1
    while found.lower() in used:
        count += 1
        found = f"{name}_{count}"
    return found
