"""PostgreSQL: connections, and queries that it answers itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from millstream.errors import Diagnostic, MillstreamError
from millstream.project.secrets import Secret, mask
from millstream.tables.known import Known, missing
from millstream.tables.mistakes import refused
from millstream.tables.places import Postgres
from millstream.tables.values import Answer
from millstream.tables.words import quoted
from millstream.types import Array, Map, Row, Type

_TIMEOUT = 10
"""Seconds for a connection."""
_DECLARE = "declare millstream_query no scroll cursor for "
NESTED = (Array, Map, Row)
"""Types that are kept as jsonb."""


@contextmanager
def connected(
    place: Postgres, *, zone: str = "UTC", read_only: bool = False
) -> Iterator[psycopg.Connection[Any]]:
    """Open one transaction, which is committed unless something is raised."""
    with open_connection(place) as connection:
        connection.read_only = read_only
        connection.execute("select set_config('timezone', %s, true)", (zone,))
        connection.execute("select set_config('search_path', %s, true)", (quoted(place.schema),))
        yield connection


def open_connection(place: Postgres) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(place.url, **options_of(place))
    except psycopg.Error as error:
        raise unreachable(place, error) from None


def options_of(place: Postgres) -> dict[str, Any]:
    """Return what a connection needs besides the address, the password in clear text."""
    given = {"user": place.username, "password": revealed(place), "application_name": "millstream"}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return options if "connect_timeout" in place.url else options | {"connect_timeout": _TIMEOUT}


def revealed(place: Postgres) -> str | None:
    password = place.password
    return password.reveal() if isinstance(password, Secret) else password


def unreachable(place: Postgres, error: psycopg.Error) -> MillstreamError:
    if isinstance(error, psycopg.ProgrammingError):
        # What can't be read as an address is cited in the error, and may hold a password.
        message = "the address of PostgreSQL can't be read"
        remedy = "write url: postgresql://host:5432/name in `tables:` of profiles.yml"
    else:
        password = revealed(place)
        said = f"PostgreSQL at {place.url} can't be reached: {' '.join(str(error).split())}"
        message = mask(said, [Secret(password)] if password else [])
        remedy = "start it, or mend url, username and password of `tables:` in profiles.yml"
    return MillstreamError(Diagnostic("MS846", message, None, remedy))


def answer(
    query: str, place: Postgres, known: Mapping[str, Known], *, zone: str, limit: int | None
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


def stored_name(name: str) -> str:
    """Return the name of a table or column as PostgreSQL has it: it reads `userId` without quotes so."""
    return name.lower()


def read_table(
    place: Postgres, table: Known, columns: Sequence[tuple[str, Type]]
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
