"""Retention of tables in PostgreSQL."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from millstream.queries.values import TableOutput
from millstream.stores.postgres.connection import open_transaction
from millstream.stores.postgres.schema import PostgresSchema, stored_name
from millstream.stores.postgres.table import NEWEST, table_name, type_name
from millstream.stores.retention import NewestTime, RetentionLimit

Connection = psycopg.Connection[Any]


def read_newest(schema: PostgresSchema, table: TableOutput) -> NewestTime | None:
    """Return the newest time in a table; it is computed if the table had no retention before."""
    column = str(table.options["order_by"])
    with open_transaction(schema) as connection:
        create = "create table if not exists {} (relation text primary key, by_column text, newest text)"
        connection.execute(sql.SQL(create).format(NEWEST))
        select = sql.SQL("select newest from {} where relation = %s and by_column = %s").format(NEWEST)
        row = connection.execute(select, (table.model, stored_name(column))).fetchone()
        if row is None:
            name = sql.Identifier(stored_name(column))
            of_rows = sql.SQL("select max({})::text from {}").format(name, table_name(table))
            row = connection.execute(of_rows).fetchone()
    return NewestTime(column, row[0]) if row is not None and row[0] is not None else None


def expire_rows(connection: Connection, table: TableOutput, limit: RetentionLimit) -> None:
    """Delete rows that are too old, and record the newest time, in the transaction of a batch."""
    column, kind = stored_name(limit.newest.column), sql.SQL(type_name(limit.type))
    connection.execute(
        sql.SQL("delete from {0} where {1} is null or {1} < {2}::{3}").format(
            table_name(table), sql.Identifier(column), sql.Literal(limit.oldest), kind
        )
    )
    text = (
        "insert into {} (relation, by_column, newest) values (%s, %s, %s) on conflict (relation)"
        " do update set by_column = excluded.by_column, newest = excluded.newest"
    )
    connection.execute(sql.SQL(text).format(NEWEST), (table.model, column, limit.newest.time))
