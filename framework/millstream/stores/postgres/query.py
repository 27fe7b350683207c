"""Runs queries in PostgreSQL, and reads complete tables for queries that also need other stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.types import Type
from millstream.queries.values import TableOutput
from millstream.stores.postgres.connection import open_transaction
from millstream.stores.postgres.schema import NESTED, PostgresSchema, stored_name
from millstream.stores.postgres.table import Connection, stored_columns, table_name
from millstream.stores.tables.datafusion_errors import query_error
from millstream.stores.tables.relations import StoredRelation, missing_table, named_tables
from millstream.stores.tables.values import Answer

_DECLARE = "declare millstream_query no scroll cursor for "


def run_query(
    query: str,
    schema: PostgresSchema,
    relations: Mapping[str, StoredRelation],
    *,
    zone: str,
    limit: int | None,
) -> Answer:
    """Run a query in the database. A cursor only allows queries, and a prepared one a single statement."""
    with open_transaction(schema, zone=zone, read_only=True) as connection:
        before, after = _around(connection, named_tables(query, relations))
        before = _DECLARE + before
        try:
            # The user's own text, in a transaction that can't write.
            text = query.rstrip("; \t\r\n") if after else query
            connection.execute(before + text + after, prepare=True)
            forward = sql.SQL("all") if limit is None else sql.SQL("forward {}").format(limit + 1)
            cursor = connection.execute(sql.SQL("fetch {} from millstream_query").format(forward))
            rows = cursor.fetchall()
        except psycopg.errors.UndefinedTable as error:
            message = error.diag.message_primary or ""
            name = message.split('"')[1] if message.count('"') >= 2 else message
            raise query_error(query, missing_table(name, relations), _start(error, before)) from None
        except psycopg.Error as error:
            raise _wrong(error, query, before) from None
        columns = tuple(column.name for column in cursor.description or ())
    more = limit is not None and len(rows) > limit
    return Answer(columns, rows[:limit], more)


def _around(connection: Connection, tables: Sequence[StoredRelation]) -> tuple[str, str]:
    """Return what to write before and after a query, so that it reads the columns that models have.

    A column that a model no longer has stays in its table until that is rebuilt.
    """
    expressions = []
    for table in tables:
        stored = stored_columns(connection, TableOutput(table.id))
        names = [name for column, _ in table.columns if (name := stored_name(column)) in stored]
        if names and len(names) < len(stored):
            columns = sql.SQL(", ").join(map(sql.Identifier, names))
            identifier = table_name(TableOutput(table.id))
            # In its own query, the name is that of the table.
            text = sql.SQL("{0} as not materialized (select {1} from {0})")
            expression = text.format(identifier, columns)
            expressions.append(expression.as_string(connection))
    if not expressions:
        return "", ""
    named = ", ".join(expressions)
    return f"with {named} select * from (", "\n) as answer"  # noqa: S608 -- quoted names


def read_table(
    schema: PostgresSchema, table: StoredRelation, columns: Sequence[tuple[str, Type]]
) -> list[tuple[Any, ...]] | None:
    """Return all rows of a table, nested values as JSON; None if the table does not exist yet."""
    chosen = sql.SQL(", ").join(
        sql.SQL("{}::text" if isinstance(kind, NESTED) else "{}").format(sql.Identifier(stored_name(name)))
        for name, kind in columns
    )
    with open_transaction(schema, read_only=True) as connection:
        try:
            text = sql.SQL("select {} from {}").format(chosen, sql.Identifier(stored_name(table.name)))
            return connection.execute(text).fetchall()
        except psycopg.errors.UndefinedTable:
            return None
        except psycopg.Error as error:
            raise _wrong(error, "", "") from None


def _wrong(error: psycopg.Error, query: str, before: str) -> MillstreamError:
    message = error.diag.message_primary or " ".join(str(error).split())
    hint = error.diag.message_hint or "the query runs in PostgreSQL and needs its SQL"
    return query_error(
        query,
        Diagnostic("MS845", message, None, hint[0].lower() + hint[1:].rstrip(".")),
        _start(error, before),
    )


def _start(error: psycopg.Error, before: str) -> int | None:
    """Return where an error is in a query, after what is written before it."""
    position = error.diag.statement_position
    return int(position) - 1 - len(before) if position else None
