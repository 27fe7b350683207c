"""Queries that PostgreSQL answers itself, and whole tables for queries that it can't answer alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from millstream.errors import Diagnostic, MillstreamError
from millstream.stores.postgres.connection import connected
from millstream.stores.postgres.schema import NESTED, PostgresSchema, stored_name
from millstream.tables.known import Known, missing
from millstream.tables.mistakes import refused
from millstream.tables.values import Answer
from millstream.types import Type

_DECLARE = "declare millstream_query no scroll cursor for "


def answer(
    query: str, place: PostgresSchema, known: Mapping[str, Known], *, zone: str, limit: int | None
) -> Answer:
    """Let the database answer. A cursor takes nothing but a query, and a prepared one but one statement."""
    with connected(place, zone=zone, read_only=True) as connection:
        try:
            # The user's own text, in a transaction that can't write.
            connection.execute(_DECLARE + query, prepare=True)
            fetch = (
                "fetch forward {} from millstream_query"
                if limit is not None
                else "fetch all from millstream_query"
            )
            found = connection.execute(sql.SQL(fetch).format((limit or 0) + 1))
            rows = found.fetchall()
        except psycopg.errors.UndefinedTable as error:
            raise _undefined(error, query, known) from None
        except psycopg.Error as error:
            raise _wrong(error, query) from None
        columns = tuple(column.name for column in found.description or ())
    more = limit is not None and len(rows) > limit
    return Answer(columns, rows[:limit], more)


def read_table(
    place: PostgresSchema, table: Known, columns: Sequence[tuple[str, Type]]
) -> list[tuple[Any, ...]] | None:
    """Return all rows of a table, what is nested as JSON; None where there is no such table yet."""
    chosen = sql.SQL(", ").join(
        sql.SQL("{}::text" if isinstance(kind, NESTED) else "{}").format(sql.Identifier(stored_name(name)))
        for name, kind in columns
    )
    with connected(place, read_only=True) as connection:
        try:
            text = sql.SQL("select {} from {}").format(chosen, sql.Identifier(stored_name(table.name)))
            return connection.execute(text).fetchall()
        except psycopg.errors.UndefinedTable:
            return None
        except psycopg.Error as error:
            raise _wrong(error, "") from None


def _undefined(error: psycopg.Error, query: str, known: Mapping[str, Known]) -> MillstreamError:
    said = error.diag.message_primary or ""
    name = said.split('"')[1] if said.count('"') >= 2 else said
    return refused(query, missing(name, known), _start(error))


def _wrong(error: psycopg.Error, query: str) -> MillstreamError:
    said = error.diag.message_primary or " ".join(str(error).split())
    hint = error.diag.message_hint or "it is SQL of PostgreSQL, which answers it"
    return refused(
        query, Diagnostic("MS845", said, None, hint[0].lower() + hint[1:].rstrip(".")), _start(error)
    )


def _start(error: psycopg.Error) -> int | None:
    position = error.diag.statement_position
    return int(position) - 1 - len(_DECLARE) if position else None
