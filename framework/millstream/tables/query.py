"""A query over state tables, reference topics and seeds: answered by PostgreSQL, or by DataFusion here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError, nearest
from millstream.project.secrets import Secret
from millstream.project.values import Seed, Target
from millstream.tables.known import Known, named
from millstream.tables.places import Delta, Place, Postgres, delta_of, place_of
from millstream.tables.values import Answer
from millstream.tables.words import writing_word
from millstream.text import Text
from millstream.types import STRING, parse_type


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

    def place(self, known: Known) -> Place | None:
        """Return where a table is; None for a seed, which is a file of the project."""
        return None if known.kind == "seed" else place_of(known.id, known.options, self.target, self.root)


def answer(sql: str, rest: Rest, limit: int | None = None) -> Answer:
    """Answer a query; only what it names is opened."""
    _check(sql)
    tables = named(sql, rest.known)
    places = {table.id: rest.place(table) for table in tables}
    in_database = [place for place in places.values() if isinstance(place, Postgres)]
    if in_database and len(in_database) == len(tables):
        from millstream.tables import postgres

        return postgres.answer(sql, in_database[0], rest.known, zone=rest.zone, limit=limit)
    return _here(sql, rest, [(table, places[table.id]) for table in tables], limit)


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


def _here(sql: str, rest: Rest, tables: list[tuple[Known, Place | None]], limit: int | None) -> Answer:
    from millstream.tables.arrow import to_arrow
    from millstream.tables.datafusion import Opened

    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        opened = Opened(rest.zone, Path(folder))
        for table, place in tables:
            match place:
                case Delta():
                    # A table that is not there may be no more than the name of a column.
                    opened.add_delta(table, delta_of(rest.target, rest.root).place_of(table.id))
                case Postgres():
                    from millstream.tables.postgres import NESTED, read_table

                    columns = [(name, parse_type(kind)) for name, kind in table.columns]
                    if (rows := read_table(place, table, columns)) is None:
                        continue
                    flat = [(name, STRING if isinstance(kind, NESTED) else kind) for name, kind in columns]
                    opened.add_rows(table, to_arrow(flat, rows, rest.zone))
                case None:
                    from millstream.tables.seeds import typed_rows

                    seed = rest.seeds()[table.name]
                    typed = [(column.name, column.type or STRING) for column in seed.columns]
                    opened.add_rows(table, to_arrow(typed, typed_rows(rest.root, seed, rest.zone), rest.zone))
        return opened.answer(sql, rest.known, limit)
