"""A query over state tables, reference topics and seeds: answered by their store, or by DataFusion here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError, nearest
from millstream.project.secrets import Secret
from millstream.project.values import Seed, Target
from millstream.stores.local import LocalTables, local_tables, store_of
from millstream.tables.known import Known, named
from millstream.tables.values import Answer
from millstream.tables.words import writing_word
from millstream.text import Text
from millstream.types import STRING


class Rest(Struct, frozen=True):
    """What of a project is at rest, and where."""

    root: Path
    target: Target
    known: Mapping[str, Known]
    seeds: Callable[[], Mapping[str, Seed]]
    """Called only where a query names a seed: it reads the project's files."""

    @property
    def zone(self) -> str:
        zone = self.target.settings.get("timezone", "UTC")
        return zone.reveal() if isinstance(zone, Secret) else str(zone)

    def tables(self, known: Known) -> LocalTables | None:
        """Return the store that has a table; None for a seed, which is a file of the project."""
        if known.kind == "seed":
            return None
        return local_tables(store_of(known.id, known.options, self.target), self.target, self.root)


def answer(sql: str, rest: Rest, limit: int | None = None) -> Answer:
    """Answer a query; only what it names is opened."""
    _check(sql)
    tables = [(table, rest.tables(table)) for table in named(sql, rest.known)]
    store = tables[0][1] if tables else None
    if store is not None and all(other == store for _, other in tables):
        found = store.answer(sql, rest.known, zone=rest.zone, limit=limit)
        if found is not None:
            return found
    return _here(sql, rest, tables, limit)


def _check(sql: str) -> None:
    if not sql.strip(" \t\r\n;"):
        remedy = "write one: millstream query 'select * from …'"
        raise MillstreamError(Diagnostic("MS845", "the query is empty", None, remedy))
    if (word := writing_word(sql)) is not None:
        text = Text("query", sql)
        place = text.location(word.start, word.stop)
        message = f"a query only reads: '{word.name}' is not for it"
        remedy = "write one SELECT; tables are written by models, see `millstream build`"
        if close := nearest(word.name, ("select", "with", "values")):
            remedy = f"did you mean '{close}'?"
        raise MillstreamError(Diagnostic("MS848", message, place, remedy, text.line(place.line)))


def _here(sql: str, rest: Rest, tables: list[tuple[Known, LocalTables | None]], limit: int | None) -> Answer:
    from millstream.tables.datafusion import Opened

    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        opened = Opened(rest.zone, Path(folder))
        for table, store in tables:
            if store is not None:
                store.open(table, opened)
                continue
            from millstream.tables.seeds import typed_rows

            seed = rest.seeds()[table.name]
            typed = [(column.name, column.type or STRING) for column in seed.columns]
            opened.add_rows(table, typed, typed_rows(rest.root, seed, rest.zone))
        return opened.answer(sql, rest.known, limit)
