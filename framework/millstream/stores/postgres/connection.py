"""Connections to PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from millstream.errors import Diagnostic, MillstreamError
from millstream.stores.postgres.schema import PostgresSchema
from millstream.tables.words import quoted


@contextmanager
def connected(
    place: PostgresSchema, *, zone: str = "UTC", read_only: bool = False
) -> Iterator[psycopg.Connection[Any]]:
    """Open one transaction, which is committed unless something is raised."""
    with _open(place) as connection:
        connection.read_only = read_only
        connection.execute("select set_config('timezone', %s, true)", (zone,))
        connection.execute("select set_config('search_path', %s, true)", (quoted(place.schema),))
        yield connection


def _open(place: PostgresSchema) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(place.url, **place.options)
    except psycopg.Error as error:
        raise _unreachable(place, error) from None


def _unreachable(place: PostgresSchema, error: psycopg.Error) -> MillstreamError:
    if isinstance(error, psycopg.ProgrammingError):
        # What can't be read as an address is cited in the error, and may hold a password.
        message = "the address of PostgreSQL can't be read"
        remedy = "write url: postgresql://host:5432/name in `tables:` of profiles.yml"
    else:
        message = place.masked(f"PostgreSQL at {place.url} can't be reached: {error}")
        remedy = "start it, or fix url, username and password of `tables:` in profiles.yml"
    return MillstreamError(Diagnostic("MS846", message, None, remedy))
