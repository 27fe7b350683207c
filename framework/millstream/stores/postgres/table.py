"""Creates, extends and drops tables in PostgreSQL."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    Decimal,
    Type,
)
from millstream.plan.nodes import Column
from millstream.queries.commands import full_refresh
from millstream.queries.values import TableOutput
from millstream.stores.postgres.connection import open_transaction
from millstream.stores.postgres.schema import NESTED, PostgresSchema, stored_name

BATCHES = sql.Identifier("millstream_batches")
"""The last batch that each query has stored in each table."""
NEWEST = sql.Identifier("millstream_newest")
"""The newest time of each table that has a retention."""
NOTES = sql.Identifier("millstream_notes")
"""What the rows of each maintained table reflect."""
_LONGEST = 63
_LOCK = 7_238_116_002
"""The advisory lock that prevents two runs from creating the same schema or table."""
_NULLS_NOT_DISTINCT = 150000
"""The first server version with NULLS NOT DISTINCT, for a single row with a NULL key."""
_TYPES: dict[Type, str] = {
    BOOLEAN: "boolean",
    TINYINT: "smallint",
    SMALLINT: "smallint",
    INT: "integer",
    BIGINT: "bigint",
    FLOAT: "real",
    DOUBLE: "double precision",
    STRING: "text",
    NULL: "text",
    BINARY: "bytea",
    DATE: "date",
    TIMESTAMP: "timestamp with time zone",
    TIMESTAMP_NTZ: "timestamp without time zone",
    VARIANT: "jsonb",
}
"""PostgreSQL's own names of types."""

Connection = psycopg.Connection[Any]


def create_table(schema: PostgresSchema, table: TableOutput) -> None:
    """Create the table, or add missing columns."""
    _check_names(table)
    types = {stored_name(column.name): column_type(table, column) for column in table.columns}
    try:
        with open_transaction(schema) as connection:
            connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
            _create_schema(connection, schema)
            existing = stored_columns(connection, table)
            if not existing:
                _create_table(connection, table, types)
                return
            for column in table.columns:
                was = existing.get(stored_name(column.name))
                if was is not None and was != types[stored_name(column.name)]:
                    raise _changed_type(table, column, was)
            _check_key(connection, table)
            for name, kind in types.items():
                if name not in existing:
                    text = sql.SQL("alter table {} add column {} {}")
                    connection.execute(text.format(table_name(table), sql.Identifier(name), sql.SQL(kind)))
    except psycopg.Error as error:
        reason = error.diag.message_primary or " ".join(str(error).split())
        message = f"PostgreSQL can't create the table '{_model(table)}': {reason}"
        remedy = f"let the user create tables in schema '{schema.schema}', or use another schema"
        raise MillstreamError(Diagnostic("MS856", message, None, remedy)) from None


def create_notes(connection: Connection) -> None:
    """Create the table of notes, which only maintained tables need, if it does not exist."""
    exists = "select to_regclass(%s) is not null"
    if connection.execute(exists, (NOTES.as_string(connection),)).fetchone() != (True,):
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        text = (
            "create table if not exists {} (relation text, number bigint, content bytea not null,"
            " primary key (relation, number))"
        )
        connection.execute(sql.SQL(text).format(NOTES))


def drop_table(schema: PostgresSchema, table: TableOutput) -> None:
    with open_transaction(schema) as connection:
        connection.execute(sql.SQL("drop table if exists {}").format(table_name(table)))
        forget_records(connection, table.model)


def forget_records(connection: Connection, relation: NodeId) -> list[sql.Identifier]:
    """Delete what is recorded about a relation; return the tables of records that exist."""
    exists = "select to_regclass(%s) is not null"
    names = ((table, table.as_string(connection)) for table in (BATCHES, NEWEST, NOTES))
    existing = [table for table, name in names if connection.execute(exists, (name,)).fetchone() == (True,)]
    for table in existing:
        connection.execute(sql.SQL("delete from {} where relation = %s").format(table), (relation,))
    return existing


def table_exists(schema: PostgresSchema, table: TableOutput) -> bool:
    with open_transaction(schema) as connection:
        return bool(stored_columns(connection, table))


def has_rows(schema: PostgresSchema, table: TableOutput) -> bool:
    with open_transaction(schema) as connection:
        if not stored_columns(connection, table):
            return False
        exists = sql.SQL("select exists (select from {})").format(table_name(table))
        row = connection.execute(exists).fetchone()
        return row == (True,)


def table_shape(connection: Connection, table: TableOutput) -> tuple[dict[str, str], list[list[str]]]:
    """Return a table's columns with their types, empty if it does not exist, and its keys."""
    return stored_columns(connection, table), sorted(row[0] for row in _keys(connection, table))


def table_name(table: TableOutput) -> sql.Identifier:
    return sql.Identifier(stored_name(_model(table)))


def type_name(type_: Type) -> str:
    return _TYPES[type_]


def column_type(table: TableOutput, column: Column) -> str:
    """Return PostgreSQL's type for one of Spark's; nested types become jsonb."""
    if isinstance(column.type, NESTED):
        return "jsonb"
    if isinstance(column.type, Decimal):
        return f"numeric({column.type.precision},{column.type.scale})"
    if (type_name := _TYPES.get(column.type)) is None:
        message = f"PostgreSQL has no type for column '{column.name}' of '{_model(table)}': {column.type}"
        remedy = f"cast it in the model, for example cast({column.name} as string)"
        raise MillstreamError(Diagnostic("MS851", message, None, remedy))
    return type_name


def _create_schema(connection: Connection, schema: PostgresSchema) -> None:
    # `create schema if not exists` needs the permission to create schemas even if the schema exists.
    row = connection.execute("select 1 from pg_namespace where nspname = %s", (schema.schema,)).fetchone()
    if row is None:
        connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema.schema)))
    connection.execute(
        sql.SQL(
            "create table if not exists {} (query text, relation text, batch bigint not null,"
            " stored_at timestamptz not null, primary key (query, relation))"
        ).format(BATCHES)
    )


def _create_table(connection: Connection, table: TableOutput, types: dict[str, str]) -> None:
    columns = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in types.items()]
    if table.keys:
        columns.append(_key_sql(connection, table))
    text = sql.SQL("create table {} ({})")
    connection.execute(text.format(table_name(table), sql.SQL(", ").join(columns)))


def _key_sql(connection: Connection, table: TableOutput) -> sql.Composed:
    keys = sql.SQL(", ").join(sql.Identifier(stored_name(key)) for key in table.keys)
    # A primary key can't be NULL. As in Delta, a table can have one row with the key NULL.
    kind = "unique nulls not distinct" if _has_null_keys(connection, table) else "primary key"
    return sql.SQL("{} ({})").format(sql.SQL(kind), keys)


def _has_null_keys(connection: Connection, table: TableOutput) -> bool:
    keys = {key.lower() for key in table.keys}
    nullable = any(column.nullable for column in table.columns if column.name.lower() in keys)
    return nullable and connection.info.server_version >= _NULLS_NOT_DISTINCT


def stored_columns(connection: Connection, table: TableOutput) -> dict[str, str]:
    """Return the table's columns with their types; empty if the table does not exist."""
    text = (
        "select a.attname, format_type(a.atttypid, a.atttypmod) from pg_attribute a"
        " join pg_class c on c.oid = a.attrelid"
        " where c.relnamespace = (select oid from pg_namespace where nspname = current_schema())"
        " and c.relname = %s"
        " and a.attnum > 0 and not a.attisdropped"
    )
    return dict(connection.execute(text, (stored_name(_model(table)),)).fetchall())


def _keys(connection: Connection, table: TableOutput) -> list[tuple[list[str], bool, bool]]:
    """Return the columns of each unique index, whether its NULLs are equal, and whether it is primary."""
    text = (
        "select array(select a.attname::text from pg_attribute a where a.attrelid = i.indrelid"
        " and a.attnum = any(i.indkey) order by 1),"
        " to_jsonb(i) ->> 'indnullsnotdistinct' = 'true', i.indisprimary"
        " from pg_index i join pg_class c on c.oid = i.indrelid"
        " where c.relnamespace = (select oid from pg_namespace where nspname = current_schema())"
        " and c.relname = %s"
        " and i.indisunique and i.indpred is null and i.indexprs is null"
    )
    return connection.execute(text, (stored_name(_model(table)),)).fetchall()


def _check_key(connection: Connection, table: TableOutput) -> None:
    """Refuse a table without a unique index over exactly the keys, which upserts need."""
    if table.appends:
        return
    indexes = _keys(connection, table)
    keys = sorted(stored_name(key) for key in table.keys)
    same = [row for row in indexes if sorted(row[0]) == keys]
    if same and (not _has_null_keys(connection, table) or any(row[1] for row in same)):
        return
    was = ", ".join(next((row[0] for row in indexes if row[1] or row[2]), [])) or "none"
    if same:
        message = f"the key of the table '{_model(table)}' can be NULL in the model, but not in PostgreSQL"
    else:
        now = ", ".join(table.keys)
        message = f"the key of the table '{_model(table)}' is {was} in PostgreSQL, but {now} in the model"
    raise MillstreamError(Diagnostic("MS853", message, None, _rebuild(table)))


def _check_names(table: TableOutput) -> None:
    for name in (_model(table), *(column.name for column in table.columns)):
        if len(name.encode()) > _LONGEST:
            message = f"the name '{name}' is longer than PostgreSQL's {_LONGEST} bytes"
            raise MillstreamError(Diagnostic("MS854", message, None, "shorten it"))


def _changed_type(table: TableOutput, column: Column, was: str) -> MillstreamError:
    now = column_type(table, column)
    where = f"column '{column.name}' of the table '{_model(table)}'"
    message = f"{where} has type {was} in PostgreSQL, but {now} in the model"
    return MillstreamError(Diagnostic("MS852", message, None, _rebuild(table)))


def _rebuild(table: TableOutput) -> str:
    return f"rebuild it: {full_refresh([table.model])}"


def _model(table: TableOutput) -> str:
    return table.model.shown_name
