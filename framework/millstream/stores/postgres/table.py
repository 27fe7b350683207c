"""Tables in PostgreSQL: made, given new columns, and dropped."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.values import TableOutput
from millstream.plan.nodes import Column
from millstream.stores.postgres.connection import connected
from millstream.stores.postgres.schema import NESTED, PostgresSchema, stored_name
from millstream.types import (
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

BATCHES = sql.Identifier("millstream_batches")
"""The last batch that each query has stored in each table."""
NEWEST = sql.Identifier("millstream_newest")
"""The newest time of each table that has a retention."""
_LONGEST = 63
_LOCK = 7_238_116_002
"""So that two runs do not make the same schema or table at the same time."""
_NULLS_NOT_DISTINCT = 150000
"""The version that can have one row with a NULL key."""
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
"""As PostgreSQL itself writes them."""

Connection = psycopg.Connection[Any]


def create(schema: PostgresSchema, table: TableOutput) -> None:
    """Make the table, or add the columns that it lacks."""
    _check_names(table)
    types = {stored_name(column.name): column_type(table, column) for column in table.columns}
    try:
        with connected(schema) as connection:
            connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
            _make_schema(connection, schema)
            there = _columns(connection, table)
            if not there:
                _make(connection, table, types)
                return
            for column in table.columns:
                was = there.get(stored_name(column.name))
                if was is not None and was != types[stored_name(column.name)]:
                    raise _changed_type(table, column, was)
            _check_key(connection, table)
            for name, kind in types.items():
                if name not in there:
                    text = sql.SQL("alter table {} add column {} {}")
                    connection.execute(text.format(table_name(table), sql.Identifier(name), sql.SQL(kind)))
    except psycopg.Error as error:
        said = error.diag.message_primary or " ".join(str(error).split())
        message = f"PostgreSQL refuses the table '{_model(table)}': {said}"
        remedy = (
            f"give the user the right to create tables in the schema '{schema.schema}', or name another one"
        )
        raise MillstreamError(Diagnostic("MS856", message, None, remedy)) from None


def drop(schema: PostgresSchema, table: TableOutput) -> None:
    """Remove the table, and what is known of the batches that it has."""
    with connected(schema) as connection:
        connection.execute(sql.SQL("drop table if exists {}").format(table_name(table)))
        if connection.execute("select to_regclass('millstream_batches')").fetchone() != (None,):
            connection.execute(sql.SQL("delete from {} where relation = %s").format(BATCHES), (table.model,))
        if connection.execute("select to_regclass('millstream_newest')").fetchone() != (None,):
            connection.execute(sql.SQL("delete from {} where relation = %s").format(NEWEST), (table.model,))


def has_rows(schema: PostgresSchema, table: TableOutput) -> bool:
    with connected(schema) as connection:
        if not _columns(connection, table):
            return False
        asked = sql.SQL("select exists (select from {})").format(table_name(table))
        found = connection.execute(asked).fetchone()
        return found == (True,)


def shape(connection: Connection, table: TableOutput) -> tuple[dict[str, str], list[list[str]]]:
    """Return the columns that a table has with their types, none where it is not there, and its keys."""
    return _columns(connection, table), sorted(row[0] for row in _keys(connection, table))


def table_name(table: TableOutput) -> sql.Identifier:
    return sql.Identifier(stored_name(_model(table)))


def type_name(type_: Type) -> str:
    return _TYPES[type_]


def column_type(table: TableOutput, column: Column) -> str:
    """Return PostgreSQL's type for one of Spark's; what is nested is kept as jsonb."""
    if isinstance(column.type, NESTED):
        return "jsonb"
    if isinstance(column.type, Decimal):
        return f"numeric({column.type.precision},{column.type.scale})"
    if (found := _TYPES.get(column.type)) is None:
        message = f"PostgreSQL has no type for column '{column.name}' of '{_model(table)}': {column.type}"
        remedy = f"cast it in the model, such as cast({column.name} as string)"
        raise MillstreamError(Diagnostic("MS851", message, None, remedy))
    return found


def _make_schema(connection: Connection, schema: PostgresSchema) -> None:
    # `create schema if not exists` needs the right to create schemas also where it is there.
    found = connection.execute("select 1 from pg_namespace where nspname = %s", (schema.schema,)).fetchone()
    if found is None:
        connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema.schema)))
    connection.execute(
        sql.SQL(
            "create table if not exists {} (query text, relation text, batch bigint not null,"
            " stored_at timestamptz not null, primary key (query, relation))"
        ).format(BATCHES)
    )


def _make(connection: Connection, table: TableOutput, types: dict[str, str]) -> None:
    columns = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in types.items()]
    keys = sql.SQL(", ").join(sql.Identifier(stored_name(key)) for key in table.keys)
    # A key that may be NULL can't be a primary one; as in Delta, there is one row with the key NULL.
    kind = "unique nulls not distinct" if _null_keys(connection, table) else "primary key"
    key = sql.SQL("{} ({})").format(sql.SQL(kind), keys)
    text = sql.SQL("create table {} ({})")
    connection.execute(text.format(table_name(table), sql.SQL(", ").join([*columns, key])))


def _null_keys(connection: Connection, table: TableOutput) -> bool:
    keys = {key.lower() for key in table.keys}
    nullable = any(column.nullable for column in table.columns if column.name.lower() in keys)
    return nullable and connection.info.server_version >= _NULLS_NOT_DISTINCT


def _columns(connection: Connection, table: TableOutput) -> dict[str, str]:
    """Return the columns that the table has with their types; none where there is no table."""
    text = (
        "select a.attname, format_type(a.atttypid, a.atttypmod) from pg_attribute a"
        " join pg_class c on c.oid = a.attrelid"
        " where c.relnamespace = (select oid from pg_namespace where nspname = current_schema())"
        " and c.relname = %s"
        " and a.attnum > 0 and not a.attisdropped"
    )
    return dict(connection.execute(text, (stored_name(_model(table)),)).fetchall())


def _keys(connection: Connection, table: TableOutput) -> list[tuple[list[str], bool, bool]]:
    """Return the columns of each unique index, whether its NULLs are equal, and whether it is the first."""
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
    """Refuse a table without a unique index over exactly the keys: conflicts could not be found."""
    found = _keys(connection, table)
    keys = sorted(stored_name(key) for key in table.keys)
    same = [row for row in found if sorted(row[0]) == keys]
    if same and (not _null_keys(connection, table) or any(row[1] for row in same)):
        return
    was = ", ".join(next((row[0] for row in found if row[1] or row[2]), [])) or "none"
    if same:
        message = f"the key of the table '{_model(table)}' can be NULL in the model, but not in PostgreSQL"
    else:
        message = (
            f"the key of the table '{_model(table)}' is {was} there and {', '.join(table.keys)} in the model"
        )
    raise MillstreamError(Diagnostic("MS853", message, None, _rebuild(table)))


def _check_names(table: TableOutput) -> None:
    for name in (_model(table), *(column.name for column in table.columns)):
        if len(name.encode()) > _LONGEST:
            message = f"PostgreSQL can't hold the name '{name}': it has more than {_LONGEST} bytes"
            raise MillstreamError(Diagnostic("MS854", message, None, "give it a shorter name"))


def _changed_type(table: TableOutput, column: Column, was: str) -> MillstreamError:
    now = column_type(table, column)
    message = f"column '{column.name}' of the table '{_model(table)}' is {was} there and {now} by the model"
    return MillstreamError(Diagnostic("MS852", message, None, _rebuild(table)))


def _rebuild(table: TableOutput) -> str:
    return f"rebuild it: millstream build --full-refresh --select {_model(table)}"


def _model(table: TableOutput) -> str:
    return table.model.removeprefix("model.")
