"""The schema of an environment in PostgreSQL."""

from __future__ import annotations

from psycopg import sql

from millstream.stores.postgres.connection import open_transaction
from millstream.stores.postgres.schema import PostgresSchema


def environment_tables(schema: PostgresSchema) -> list[str]:
    """Return the tables of an environment, and what Millstream records about them."""
    text = (
        "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = %s and c.relkind in ('r', 'p') order by 1"
    )
    with open_transaction(schema, read_only=True) as connection:
        return [str(row[0]) for row in connection.execute(text, (schema.schema,)).fetchall()]


def drop_all(schema: PostgresSchema) -> None:
    assert schema.environment is not None, "only the schema of an environment is dropped"
    with open_transaction(schema) as connection:
        connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(schema.schema)))
