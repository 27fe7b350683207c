"""Runs a query over state tables, reference topics and seeds, in their store or in DataFusion."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError, nearest_name
from millstream.core.text import FileText
from millstream.core.types import STRING
from millstream.project.secrets import Secret
from millstream.project.values import Seed, Target
from millstream.sql.dialect_words import writing_word
from millstream.stores.local import LocalTables, local_tables, store_of
from millstream.stores.tables.relations import StoredRelation, missing_table, named_tables
from millstream.stores.tables.values import Answer


class StoredProject(Struct, frozen=True):
    """The relations at rest of a project, and where they are stored."""

    root: Path
    target: Target
    relations: Mapping[str, StoredRelation]
    seeds: Callable[[], Mapping[str, Seed]]
    """Reads the project's files; only called if a query names a seed."""

    @property
    def zone(self) -> str:
        zone = self.target.settings.get("timezone", "UTC")
        return zone.reveal() if isinstance(zone, Secret) else str(zone)

    def tables(self, relation: StoredRelation) -> LocalTables | None:
        """Return the store of a table; None for a seed, which is a file of the project."""
        if relation.kind == "seed":
            return None
        return local_tables(
            store_of(relation.id, relation.options.get("store"), self.target), self.target, self.root
        )


def run_query(sql: str, project: StoredProject, limit: int | None = None) -> Answer:
    """Run a query; only the tables that it names are opened."""
    if (described := answer_description(sql, project.relations)) is not None:
        return described
    _check(sql)
    tables = [(table, project.tables(table)) for table in named_tables(sql, project.relations)]
    store = tables[0][1] if tables else None
    if store is not None and all(other == store for _, other in tables):
        from_store = store.answer(sql, project.relations, zone=project.zone, limit=limit)
        if from_store is not None:
            return from_store
    return _run_in_datafusion(sql, project, tables, limit)


def _check(sql: str) -> None:
    if not sql.strip(" \t\r\n;"):
        remedy = "write a query: millstream query 'select * from …'"
        raise MillstreamError(Diagnostic("MS845", "the query is empty", None, remedy))
    if (word := writing_word(sql)) is not None:
        text = FileText("query", sql)
        location = text.location(word.start, word.stop)
        message = f"'{word.name}' is not allowed: a query can only read"
        remedy = (
            "write a SELECT, `show tables` or `describe TABLE`; only models write, see `millstream build`"
        )
        if close := nearest_name(word.name, ("select", "with", "values")):
            remedy = f"did you mean '{close}'?"
        raise MillstreamError(Diagnostic("MS848", message, location, remedy, text.line(location.line)))


def _run_in_datafusion(
    sql: str,
    project: StoredProject,
    tables: list[tuple[StoredRelation, LocalTables | None]],
    limit: int | None,
) -> Answer:
    from millstream.stores.tables.datafusion import OpenedTables

    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        opened = OpenedTables(project.zone, Path(folder))
        for table, store in tables:
            if store is not None:
                store.open(table, opened)
                continue
            from millstream.stores.tables.seeds import typed_rows

            seed = project.seeds()[table.name]
            typed = [(column.name, column.type or STRING) for column in seed.columns]
            opened.add_rows(table, typed, typed_rows(project.root, seed, project.zone))
        return opened.answer(sql, project.relations, limit)


_NAME = r"(?P<name>[\w.`\"]+)"
_TABLES = re.compile(r"show\s+tables", re.IGNORECASE)
_COLUMNS = re.compile(
    rf"(?:show\s+columns\s+(?:from|in)|desc(?:ribe)?(?:\s+table)?)\s+{_NAME}", re.IGNORECASE
)


def answer_description(sql: str, relations: Mapping[str, StoredRelation]) -> Answer | None:
    """Return the answer to a statement of this kind; None for all others."""
    text = sql.strip(" \t\r\n;")
    if _TABLES.fullmatch(text):
        rows = sorted(
            (relation.name, relation.kind, len(relation.columns))
            for relation in relations.values()
            if relation.at_rest
        )
        return Answer(("table", "kind", "columns"), rows)
    if match := _COLUMNS.fullmatch(text):
        name = re.sub(r"[`\"]", "", match["name"])
        if (relation := relations.get(name.lower())) is None:
            raise MillstreamError(missing_table(name, relations))
        return Answer(("column", "type"), list(relation.columns))
    return None
