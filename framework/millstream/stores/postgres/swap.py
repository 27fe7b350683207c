"""Replaces the rows of a table in PostgreSQL in one transaction."""

from __future__ import annotations

from psycopg import sql

from millstream.queries.values import TableOutput
from millstream.stores.postgres.connection import open_transaction
from millstream.stores.postgres.schema import PostgresSchema
from millstream.stores.postgres.table import forget_records, table_name, table_shape


def swap_tables(schema: PostgresSchema, new: TableOutput, table: TableOutput) -> None:
    """Replace the rows of `table` by those of `new`, with its recorded batches, and drop `new`."""
    with open_transaction(schema) as connection:
        new_shape = table_shape(connection, new)
        if not new_shape[0]:
            return  # an earlier attempt did it
        names = {"new": table_name(new), "table": table_name(table)}
        if new_shape == table_shape(connection, table):
            # This keeps the table's permissions and the views over it.
            columns = sql.SQL(", ").join(map(sql.Identifier, new_shape[0]))
            connection.execute(sql.SQL("delete from {table}").format(**names))
            copy = sql.SQL("insert into {table} ({columns}) select {columns} from {new}")
            connection.execute(copy.format(columns=columns, **names))
            connection.execute(sql.SQL("drop table {new}").format(**names))
        else:
            connection.execute(sql.SQL("drop table if exists {table}").format(**names))
            connection.execute(sql.SQL("alter table {new} rename to {table}").format(**names))
        text = "update {} set relation = %s where relation = %s"
        for records in forget_records(connection, table.model):
            connection.execute(sql.SQL(text).format(records), (table.model, new.model))


def copy_table(schema: PostgresSchema, table: TableOutput, to: TableOutput) -> None:
    with open_transaction(schema) as connection:
        columns, _ = table_shape(connection, table)
        if not columns:
            return
        names = {"table": table_name(table), "copy": table_name(to)}
        connection.execute(sql.SQL("drop table if exists {copy}").format(**names))
        connection.execute(sql.SQL("create table {copy} (like {table} including all)").format(**names))
        connection.execute(sql.SQL("insert into {copy} select * from {table}").format(**names))
        text = (
            "insert into {0} select (jsonb_populate_record(t, jsonb_build_object('relation', %s::text))).* "
            "from {0} t where relation = %s"
        )
        for records in forget_records(connection, to.model):
            connection.execute(sql.SQL(text).format(records), (to.model, table.model))
