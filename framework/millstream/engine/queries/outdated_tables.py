"""Finds the table because of which a query fails: it was built before its model had a column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.core.text import FileText
from millstream.engine.queries.tables import Tables, build_first
from millstream.project.values import SqlFile
from millstream.queries.values import Query

_UNRESOLVED = re.compile(r"\[UNRESOLVED_COLUMN[.\w]*\][^\n]*? with name (`[^\n]+?`) cannot be resolved")


def outdated_table(query: Query, error: str, tables: Tables, files: Iterable[SqlFile]) -> Diagnostic | None:
    """Return which table to build first, if one that a query reads lacks the column that Spark looks for."""
    if (match := _UNRESOLVED.search(error)) is None:
        return None
    column = match[1].rpartition("`.`")[2].strip("`").replace("``", "`").lower()
    for relation in dict.fromkeys(_tables_read(query)):
        if column in tables.missing_columns(relation):
            name = relation.name
            message = f"'{name}' was built before it had the column '{column}'"
            return _at_reference(Diagnostic("MS843", message, None, build_first(relation)), name, files)
    return None


def _tables_read(query: Query) -> Iterator[NodeId]:
    relations = [read.relation for read in query.reads] + [read.relation for read in query.table_reads]
    if query.maintaining is not None:
        relations += [read.relation for read in query.maintaining.inputs]
    yield from (relation for relation in relations if relation.kind != "seed")


def _at_reference(diagnostic: Diagnostic, name: str, files: Iterable[SqlFile]) -> Diagnostic:
    """Return a problem at the first reference to a model."""
    reference = re.compile(rf"ref\(\s*(?P<quote>['\"]){re.escape(name)}(?P=quote)\s*\)")
    for file in files:
        if (match := reference.search(file.content)) is not None:
            text = FileText(file.path, file.content)
            location = text.location(*match.span())
            return replace(diagnostic, location=location, line=text.line(location.line))
    return diagnostic
