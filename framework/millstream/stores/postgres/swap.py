"""A table in PostgreSQL gets the rows of another one in one transaction."""

from __future__ import annotations

from psycopg import sql

from millstream.physical.values import TableOutput
from millstream.stores.postgres.connection import connected
from millstream.stores.postgres.schema import PostgresSchema
from millstream.stores.postgres.table import BATCHES, NEWEST, Connection, shape, table_name


def swap(schema: PostgresSchema, new: TableOutput, table: TableOutput) -> None:
    """Give `table` the rows of `new`, which is gone then, and what is known of its batches."""
    with connected(schema) as connection:
        made = shape(connection, new)
        if not made[0]:
            return  # it was done before
        names = {"new": table_name(new), "table": table_name(table)}
        if made == shape(connection, table):
            # Who may read it, and views over it, stay.
            columns = sql.SQL(", ").join(map(sql.Identifier, made[0]))
            connection.execute(sql.SQL("delete from {table}").format(**names))
            copy = sql.SQL("insert into {table} ({columns}) select {columns} from {new}")
            connection.execute(copy.format(columns=columns, **names))
            connection.execute(sql.SQL("drop table {new}").format(**names))
        else:
            connection.execute(sql.SQL("drop table if exists {table}").format(**names))
            connection.execute(sql.SQL("alter table {new} rename to {table}").format(**names))
        for known in (BATCHES, NEWEST):
            _rename(connection, known, new.model, table.model)


def copy(schema: PostgresSchema, table: TableOutput, to: TableOutput) -> None:
    """Make a table with the rows of another one, if it is there, and with what is known of its batches."""
    with connected(schema) as connection:
        columns, _ = shape(connection, table)
        if not columns:
            return
        names = {"table": table_name(table), "copy": table_name(to)}
        connection.execute(sql.SQL("drop table if exists {copy}").format(**names))
        connection.execute(sql.SQL("create table {copy} (like {table} including all)").format(**names))
        connection.execute(sql.SQL("insert into {copy} select * from {table}").format(**names))
        for known in (BATCHES, NEWEST):
            _copy(connection, known, table.model, to.model)


def _copy(connection: Connection, known: sql.Identifier, name: str, to: str) -> None:
    if connection.execute("select to_regclass(%s)", (known.as_string(connection),)).fetchone() == (None,):
        return
    connection.execute(sql.SQL("delete from {} where relation = %s").format(known), (to,))
    text = sql.SQL(
        "insert into {0} select (jsonb_populate_record(t, jsonb_build_object('relation', %s::text))).* "
        "from {0} t where relation = %s"
    )
    connection.execute(text.format(known), (to, name))


def _rename(connection: Connection, known: sql.Identifier, old: str, name: str) -> None:
    if connection.execute("select to_regclass(%s)", (known.as_string(connection),)).fetchone() == (None,):
        return
    connection.execute(sql.SQL("delete from {} where relation = %s").format(known), (name,))
    connection.execute(sql.SQL("update {} set relation = %s where relation = %s").format(known), (name, old))
