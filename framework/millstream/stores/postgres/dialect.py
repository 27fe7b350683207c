"""The SQL of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import psycopg

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
from millstream.queries.values import TableOutput
from millstream.stores.databases.dialect import Connection, QueryRefusal, RecordTypes, TableSchema, UniqueKey
from millstream.stores.databases.query import selected
from millstream.stores.databases.schema import NESTED, stored_name
from millstream.stores.databases.sql import WrittenSql, write_sql
from millstream.stores.databases.staging import ATTEMPT, DELETED, for_each, newer
from millstream.stores.databases.table import deleting_columns, has_nullable_key, key_columns, table_name
from millstream.stores.postgres.connection import open_transaction
from millstream.stores.postgres.schema import PostgresSchema
from millstream.stores.tables.relations import StoredRelation

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
_IN_SCHEMA = WrittenSql("c.relnamespace = (select oid from pg_namespace where nspname = current_schema())")
_DECLARE = "declare millstream_query no scroll cursor for "


class PostgresDialect:
    title = "PostgreSQL"
    error: type[Exception] = psycopg.Error
    longest_name = 63
    name_unit = "bytes"
    record_types = RecordTypes(WrittenSql("text"), WrittenSql("bytea"), WrittenSql("timestamptz"))
    staging = WrittenSql("create unlogged table")
    nested_as_text = WrittenSql("{column}::text")

    def open(
        self, schema: TableSchema, *, zone: str = "UTC", read_only: bool = False
    ) -> AbstractContextManager[Connection]:
        return open_transaction(cast("PostgresSchema", schema), zone=zone, read_only=read_only)

    def reason(self, error: Exception) -> str:
        message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        return message or " ".join(str(error).split())

    def refusal(self, error: Exception, before: str) -> QueryRefusal:
        assert isinstance(error, psycopg.Error)
        message, stated = self.reason(error), error.diag.statement_position
        position = int(stated) - 1 - len(_DECLARE) - len(before) if stated else None
        if isinstance(error, psycopg.errors.UndefinedTable):
            table = message.split('"')[1] if message.count('"') >= 2 else message
            return QueryRefusal(message, table=table, position=position)
        return QueryRefusal(message, error.diag.message_hint, position=position)

    def server(self, connection: Connection) -> str:
        return f"version {connection.info.server_version // 10_000}"

    def lock(self, connection: Connection) -> None:
        connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))

    def create_schema(self, connection: Connection, schema: TableSchema) -> None:
        # `create schema if not exists` needs the permission to create schemas even if the schema exists.
        exists = connection.execute("select 1 from pg_namespace where nspname = %s", (schema.schema,))
        if exists.fetchone() is None:
            connection.execute(write_sql("create schema {schema}", schema=schema.schema), ())

    def drop_schema(self, connection: Connection, schema: TableSchema) -> None:
        connection.execute(write_sql("drop schema if exists {schema} cascade", schema=schema.schema), ())

    def tables(self, connection: Connection, schema: TableSchema) -> list[str]:
        text = (
            "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = %s and c.relkind in ('r', 'p') order by 1"
        )
        return [str(row[0]) for row in connection.execute(text, (schema.schema,)).fetchall()]

    def table_options(self, _connection: Connection) -> WrittenSql:
        return WrittenSql("")

    def columns(self, connection: Connection, name: str) -> dict[str, str]:
        text = (
            "select a.attname, format_type(a.atttypid, a.atttypmod) from pg_attribute a"
            " join pg_class c on c.oid = a.attrelid where {in_schema}"
            " and c.relname = %s and a.attnum > 0 and not a.attisdropped"
        )
        return dict(connection.execute(write_sql(text, in_schema=_IN_SCHEMA), (name,)).fetchall())

    def unique_keys(self, connection: Connection, name: str) -> list[UniqueKey]:
        text = (
            "select array(select a.attname::text from pg_attribute a where a.attrelid = i.indrelid"
            " and a.attnum = any(i.indkey) order by 1),"
            " coalesce(to_jsonb(i) ->> 'indnullsnotdistinct' = 'true', false), i.indisprimary"
            " from pg_index i join pg_class c on c.oid = i.indrelid where {in_schema}"
            " and c.relname = %s and i.indisunique and i.indpred is null and i.indexprs is null order by 1"
        )
        keys = connection.execute(write_sql(text, in_schema=_IN_SCHEMA), (name,)).fetchall()
        return [UniqueKey(*row) for row in keys]

    def key_sql(self, _connection: Connection, columns: Sequence[str], *, nullable: bool) -> WrittenSql:
        # A primary key can't be NULL. As in Delta, a table can have one row with the key NULL.
        kind = WrittenSql("unique nulls not distinct" if nullable else "primary key")
        return write_sql("{kind} ({columns})", kind=kind, columns=columns)

    def holds_null_keys(self, connection: Connection) -> bool:
        return int(connection.info.server_version) >= _NULLS_NOT_DISTINCT

    def column_type(self, _table: TableOutput, column: Column) -> str | None:
        if isinstance(column.type, NESTED):
            return "jsonb"
        if isinstance(column.type, Decimal):
            return f"numeric({column.type.precision},{column.type.scale})"
        return _TYPES.get(column.type)

    def size(self, connection: Connection, name: str) -> int:
        quoted = write_sql("{name}", name=name).replace("%%", "%")
        return int(connection.execute("select pg_table_size(%s::regclass)", (quoted,)).fetchone()[0])

    def record_batch(self, batches: str) -> WrittenSql:
        text = (
            "insert into {batches} as old (query, relation, batch, stored_at) values (%s, %s, %s, now())"
            " on conflict (query, relation) do update set batch = excluded.batch, stored_at = now()"
            " where old.batch < excluded.batch"
        )
        return write_sql(text, batches=batches)

    def upsert(self, table: TableOutput, staging: str, attempts: WrittenSql) -> Sequence[WrittenSql]:
        names, keys = [stored_name(column.name) for column in table.columns], key_columns(table)
        rest = [name for name in names if name not in keys]
        conflict = WrittenSql("")
        if keys and rest:
            text = " on conflict ({keys}) do update set {sets} where {newer}"
            sets = for_each("{name} = excluded.{name}", rest, ", ")
            conflict = write_sql(text, keys=keys, sets=sets, newer=newer(table, "excluded"))
        elif keys:
            conflict = write_sql(" on conflict ({keys}) do nothing", keys=keys)
        text = (
            "insert into {table} as old ({names}) select {names} from {staging}"
            " where {attempt} in ({attempts}) and not {deleted}{conflict}"
        )
        parts = {"table": table_name(table), "staging": staging, "attempt": ATTEMPT, "deleted": DELETED}
        return (write_sql(text, names=names, attempts=attempts, conflict=conflict, **parts),)

    def deletes(self, table: TableOutput, staging: str, attempts: WrittenSql) -> Sequence[WrittenSql]:
        """Delete by equal keys, which uses an index; then rows with NULL in their key, without one."""
        keys = deleting_columns(table)
        conditions = [for_each("old.{name} = new.{name}", keys, " and ")]
        if has_nullable_key(table):
            equal = for_each("old.{name} is not distinct from new.{name}", keys, " and ")
            conditions.append(WrittenSql(f"{equal} and ({for_each('new.{name} is null', keys, ' or ')})"))
        text = (
            "delete from {table} as old using {staging} as new where new.{attempt} in ({attempts})"
            " and new.{deleted} and {condition} and {newer}"
        )
        parts = {"table": table_name(table), "staging": staging, "attempt": ATTEMPT, "deleted": DELETED}
        replaces = newer(table, "new")
        return [
            write_sql(text, attempts=attempts, condition=condition, newer=replaces, **parts)
            for condition in conditions
        ]

    def time_as_text(self, column: str, _kind: Type) -> WrittenSql:
        return write_sql("max({column})::text", column=column)

    def time_of_text(self, text: str, _kind: Type) -> str:
        return text

    def swap(self, connection: Connection, new: str, name: str, *, same_shape: bool) -> None:
        names = {"new": new, "table": name}
        if same_shape:
            # This keeps the table's permissions and the views over it.
            columns = list(self.columns(connection, new))
            connection.execute(write_sql("delete from {table}", **names), ())
            copy = "insert into {table} ({columns}) select {columns} from {new}"
            connection.execute(write_sql(copy, columns=columns, **names), ())
            connection.execute(write_sql("drop table {new}", **names), ())
        else:
            connection.execute(write_sql("drop table if exists {table}", **names), ())
            connection.execute(write_sql("alter table {new} rename to {table}", **names), ())

    def copy(self, connection: Connection, name: str, copy: str) -> None:
        for text in (
            "drop table if exists {copy}",
            "create table {copy} (like {table} including all)",
            "insert into {copy} select * from {table}",
        ):
            connection.execute(write_sql(text, table=name, copy=copy), ())

    def narrowed(
        self, connection: Connection, query: str, _schema: TableSchema, tables: Sequence[StoredRelation]
    ) -> tuple[str, str, str]:
        expressions = []
        for table in tables:
            stored = self.columns(connection, stored_name(table.name))
            names = selected(table, stored)
            if names and len(names) < len(stored):
                # In its own query, the name is that of the table.
                text = "{table} as not materialized (select {names} from {table})"
                expressions.append(write_sql(text, table=stored_name(table.name), names=names))
        if not expressions:
            return "", query, ""
        named = ", ".join(expressions).replace("%%", "%")
        # The names are quoted.
        return f"with {named} select * from (", query.rstrip("; \t\r\n"), "\n) as answer"  # noqa: S608

    def fetch(
        self, connection: Connection, text: str, count: int | None, _tables: Mapping[str, StoredRelation]
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Use a cursor, which only allows queries, as a prepared statement, which can be only one."""
        connection.execute(_DECLARE + text, prepare=True)
        forward = "all" if count is None else f"forward {count}"
        cursor = connection.execute(f"fetch {forward} from millstream_query")
        rows = cursor.fetchall()
        return tuple(column.name for column in cursor.description or ()), rows


DIALECT = PostgresDialect()
