"""Retention of tables in databases."""

from __future__ import annotations

from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.databases.dialect import Connection, Dialect
from millstream.stores.databases.schema import DatabaseSchema, stored_name
from millstream.stores.databases.sql import WrittenSql, write_sql
from millstream.stores.databases.table import NEWEST, column_type, table_name
from millstream.stores.retention import NewestTime, RetentionLimit


def read_newest(schema: DatabaseSchema, table: TableOutput) -> NewestTime | None:
    """Return the newest time in a table; it is computed if the table had no retention before."""
    column, dialect = str(table.options["order_by"]), schema.dialect
    with dialect.open(schema) as connection:
        if not dialect.columns(connection, NEWEST):
            _create_newest(dialect, connection)
        select = "select newest from {newest} where relation = %s and by_column = %s"
        row = connection.execute(
            write_sql(select, newest=NEWEST), (table.model, stored_name(column))
        ).fetchone()
        if row is None:
            newest = dialect.time_as_text(stored_name(column), _time(table, column).type)
            text = write_sql("select {newest} from {table}", newest=newest, table=table_name(table))
            row = connection.execute(text, ()).fetchone()
    return NewestTime(column, row[0]) if row is not None and row[0] is not None else None


def expire_rows(dialect: Dialect, connection: Connection, table: TableOutput, limit: RetentionLimit) -> None:
    """Delete rows that are too old, and record the newest time, in the transaction of a batch."""
    column = stored_name(limit.newest.column)
    kind = WrittenSql(column_type(dialect, table, _time(table, limit.newest.column)))
    delete = "delete from {table} where {column} is null or {column} < cast(%s as {kind})"
    connection.execute(
        write_sql(delete, table=table_name(table), column=column, kind=kind),
        (dialect.time_of_text(limit.oldest, limit.type),),
    )
    connection.execute(write_sql("delete from {newest} where relation = %s", newest=NEWEST), (table.model,))
    store = "insert into {newest} (relation, by_column, newest) values (%s, %s, %s)"
    connection.execute(write_sql(store, newest=NEWEST), (table.model, column, limit.newest.time))


def _create_newest(dialect: Dialect, connection: Connection) -> None:
    text = (
        "create table if not exists {newest}"
        " (relation {name} primary key, by_column {name}, newest {name}){options}"
    )
    name, options = dialect.record_types.name, dialect.table_options(connection)
    connection.execute(write_sql(text, newest=NEWEST, name=name, options=options), ())


def _time(table: TableOutput, name: str) -> Column:
    return next(column for column in table.columns if stored_name(column.name) == stored_name(name))
