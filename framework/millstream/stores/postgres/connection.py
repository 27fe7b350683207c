"""Connections to PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from millstream.core.errors import MillstreamError
from millstream.sql.dialect_words import quote_standard
from millstream.stores.databases.unreachable import invalid_address, unreachable
from millstream.stores.postgres.schema import PostgresSchema


@contextmanager
def open_transaction(
    schema: PostgresSchema, *, zone: str = "UTC", read_only: bool = False
) -> Iterator[psycopg.Connection[Any]]:
    """Open one transaction, which is committed unless an exception is raised."""
    try:
        opened: psycopg.Connection[Any] = psycopg.connect(schema.url, **schema.options)
    except psycopg.Error as error:
        raise _unreachable(schema, error) from None
    with opened as connection:
        connection.read_only = read_only
        connection.execute("select set_config('timezone', %s, false)", (zone,))
        path = schema.search_path if read_only else quote_standard(schema.schema)
        connection.execute("select set_config('search_path', %s, false)", (path,))
        yield connection


def _unreachable(schema: PostgresSchema, error: psycopg.Error) -> MillstreamError:
    if isinstance(error, psycopg.ProgrammingError):
        return invalid_address(schema.dialect, "url: postgresql://host:5432/name")
    return unreachable(schema, f"{error}", "url, username and password")
