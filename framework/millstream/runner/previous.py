"""The version of a query that another one has taken the place of, kept for a way back."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from millstream.deployment.records import Record
from millstream.physical.values import TableOutput
from millstream.runner.aside import Aside, renamed
from millstream.runner.checkpoints import Place
from millstream.runner.tables import KEPT, Tables
from millstream.stores.files import Files

_FILE = "previous.json"


class Previous(Struct, frozen=True):
    record: Record | None
    """None: it did not run, and another query filled its tables."""
    by: str
    """Id of the record that took its place."""
    apply: str
    """Which `apply` that was."""
    streamed: tuple[str, ...] = ()
    """Tables whose changes somebody reads."""

    others: tuple[TableOutput, ...] = ()
    """Tables of another query."""

    @property
    def tables(self) -> tuple[TableOutput, ...]:
        if self.record is None:
            return self.others
        keys = {stored.model: stored.keys for stored in self.record.signature.stored}
        return tuple(
            TableOutput(model, keys.get(model, ()), columns) for model, columns in self.record.tables.items()
        )


def read(files: Files, place: Place) -> Previous | None:
    content = files.read(_path(place))
    return None if content is None else msgspec.json.decode(content, type=Previous)


def keep(files: Files, tables: Tables, place: Place, before: Record | None, swap: Aside) -> None:
    """Keep what a swap takes the place of; done once, since from then on the tables have other rows."""
    found = read(files, place)
    if found is not None and found.by == swap.record.id:
        return
    forget(files, tables, place)
    others = () if before else swap.tables
    made = Previous(before, swap.record.id, swap.apply, swap.streamed, others)
    for table in made.tables:
        tables.copy(table, renamed(table, KEPT))
    files.write(_path(place), msgspec.json.format(msgspec.json.encode(made), indent=1))


def forget(files: Files, tables: Tables, place: Place) -> None:
    """Remove what was kept: there is no way back to it any more."""
    found = read(files, place)
    if found is None:
        return
    for table in found.tables:
        tables.drop(renamed(table, KEPT))
    if found.record is not None:
        files.remove(place.spark(found.record))
    files.remove(_path(place))


def give_back(files: Files, tables: Tables, place: Place, found: Previous) -> None:
    """Give tables the rows that another query made of them, and forget the query that had taken them over."""
    for table in found.tables:
        tables.copy(renamed(table, KEPT), table)
    files.remove(place.record)
    for table in found.tables:
        tables.drop(renamed(table, KEPT))
    files.remove(place.folder)


def restored(found: Previous, record: Record) -> Aside:
    """Return the previous version as what takes its place again."""
    return Aside(
        record,
        digest="",
        tables=found.tables,
        streamed=found.streamed,
        swapping=True,
        named=KEPT,
        swap=f"{record.id}/{found.apply}",
    )


def drop_note(files: Files, place: Place) -> None:
    """Forget that a version was kept, which runs again."""
    files.remove(_path(place))


def _path(place: Place) -> str:
    return f"{place.folder}/{_FILE}"
