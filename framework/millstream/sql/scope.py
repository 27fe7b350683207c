"""Which columns a name can mean at a place of a query."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from millstream.sql.values import Kind, Source
from millstream.types import UNKNOWN, Type

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
    """A node id when columns that are not listed may exist too."""

    def find(self, folded: str) -> Bound | None:
        for column in self.columns:
            if column.name.lower() == folded:
                return column
        return None


class Scope:
    """The relations of one SELECT, within those of the query around it."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.relations: list[Relation] = []
        self.merged: dict[str, Bound] = {}
        """Columns of USING, which exist once for both sides."""
        self._by_name: dict[str, list[tuple[Relation, Bound]]] | None = None

    def add(self, relation: Relation) -> None:
        self.relations.append(relation)
        self._by_name = None

    def relation(self, alias: str) -> Relation | None:
        folded = alias.lower()
        return next((r for r in self.relations if r.alias.lower() == folded), None)

    def named(self, folded: str) -> list[tuple[Relation, Bound]]:
        """Return every column of this name, once for a USING."""
        if self._by_name is None:
            self._by_name = {}
            for relation in self.relations:
                for column in relation.columns:
                    self._by_name.setdefault(column.name.lower(), []).append((relation, column))
        found = self._by_name.get(folded, [])
        if len(found) > 1 and folded in self.merged:
            return [(found[0][0], self.merged[folded])]
        if not found:
            return [(r, opened(r, folded)) for r in self.relations if r.open]
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


def opened(relation: Relation, name: str) -> Bound:
    """Take a column of a relation that is not known in full as given."""
    return Bound(name, UNKNOWN, True, frozenset({(relation.open, name, "direct")}))
