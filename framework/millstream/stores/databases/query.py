"""Runs queries in a database, and reads complete tables for queries that also need other stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.types import Type
from millstream.sql.dialect_words import first_mention
from millstream.stores.databases.dialect import QueryRefusal
from millstream.stores.databases.schema import NESTED, DatabaseSchema, stored_name
from millstream.stores.databases.sql import WrittenSql, write_sql
from millstream.stores.tables.datafusion_errors import query_error
from millstream.stores.tables.relations import StoredRelation, missing_table, named_tables
from millstream.stores.tables.values import Answer


def run_query(
    query: str,
    schema: DatabaseSchema,
    relations: Mapping[str, StoredRelation],
    *,
    zone: str,
    limit: int | None,
) -> Answer:
    """Run a user's own query in the database, in a transaction that can't write."""
    dialect = schema.dialect
    tables = named_tables(query, relations)
    with dialect.open(schema, zone=zone, read_only=True) as connection:
        before, text, after = dialect.narrowed(connection, query, schema, tables)
        count = None if limit is None else limit + 1
        try:
            columns, rows = dialect.fetch(
                connection, before + text + after, count, {stored_name(table.name): table for table in tables}
            )
        except dialect.error as error:
            raise _wrong(dialect.refusal(error, before), query, relations, schema) from None
    more = limit is not None and len(rows) > limit
    return Answer(columns, rows[:limit], more)


def read_table(
    schema: DatabaseSchema, table: StoredRelation, columns: Sequence[tuple[str, Type]]
) -> list[tuple[Any, ...]] | None:
    """Return all rows of a table, nested values as JSON; None if the table does not exist yet."""
    dialect = schema.dialect
    chosen = [
        write_sql(
            dialect.nested_as_text if isinstance(kind, NESTED) else "{column}", column=stored_name(name)
        )
        for name, kind in columns
    ]
    with dialect.open(schema, read_only=True) as connection:
        if not dialect.columns(connection, stored_name(table.name)):
            return None
        try:
            text = write_sql("select {chosen} from {table}", chosen=chosen, table=stored_name(table.name))
            rows: list[tuple[Any, ...]] = list(connection.execute(text, ()).fetchall())
        except dialect.error as error:
            raise _wrong(dialect.refusal(error, ""), "", {}, schema) from None
    return rows


def selected(table: StoredRelation, stored: Mapping[str, str]) -> list[str]:
    """Return the stored columns of a table that its model has."""
    return [name for column, _ in table.columns if (name := stored_name(column)) in stored]


def from_schema(schema: str, name: str) -> WrittenSql:
    return write_sql("{schema}.{name}", schema=schema, name=name)


def _wrong(
    refusal: QueryRefusal, query: str, relations: Mapping[str, StoredRelation], schema: DatabaseSchema
) -> MillstreamError:
    start = refusal.position
    if start is None and refusal.word is not None:
        start = first_mention(query, refusal.word)
    if start is None and refusal.text is not None and refusal.text in query:
        start = query.rindex(refusal.text)
    if refusal.table is not None:
        return query_error(query, missing_table(refusal.table, relations), start)
    title = schema.dialect.title
    hint = refusal.hint or f"the query runs in {title} and needs its SQL"
    remedy = hint[0].lower() + hint[1:].rstrip(".")
    return query_error(query, Diagnostic("MS845", schema.masked(refusal.message), None, remedy), start)
