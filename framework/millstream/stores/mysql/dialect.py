"""The SQL of MySQL and MariaDB, with ANSI_QUOTES."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from typing import Any, cast

import pymysql
from pymysql.constants import ER

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
from millstream.sql.dialect_words import read_words, respell_names
from millstream.stores.databases.dialect import Connection, QueryRefusal, RecordTypes, TableSchema, UniqueKey
from millstream.stores.databases.query import from_schema, selected
from millstream.stores.databases.schema import NESTED, stored_name
from millstream.stores.databases.sql import WrittenSql, write_sql
from millstream.stores.databases.staging import ATTEMPT, DELETED, for_each, newer
from millstream.stores.databases.table import deleting_columns, key_columns, table_name
from millstream.stores.mysql.answers import read_rows
from millstream.stores.mysql.connection import open_transaction, use_database
from millstream.stores.mysql.schema import MysqlSchema
from millstream.stores.tables.relations import StoredRelation

_TYPES: dict[Type, str] = {
    BOOLEAN: "tinyint(1)",
    TINYINT: "tinyint",
    SMALLINT: "smallint",
    INT: "int",
    BIGINT: "bigint",
    # What a server sends of a FLOAT has six digits.
    FLOAT: "double",
    DOUBLE: "double",
    STRING: "longtext",
    NULL: "longtext",
    BINARY: "longblob",
    DATE: "date",
    # A TIMESTAMP of MySQL begins in 1970 and ends in 2038.
    TIMESTAMP: "datetime(6)",
    TIMESTAMP_NTZ: "datetime(6)",
    # MySQL's JSON rounds numbers to doubles.
    VARIANT: "longtext",
}
_WIDTH = re.compile(r"(?<=int)\((?!1\)$)\d+\)")
"""The width that MariaDB adds to types of integers; that of `tinyint(1)`, a boolean, is not one of them."""
_KEY_BYTES, _OTHER_BYTES, _CHARACTER_BYTES = 3072, 24, 4
"""The longest key; what a column of a key takes at most, if it is not a text; a character of utf8mb4."""
_ONE_LOCK = "millstream"
_LOCK_SECONDS = 3600
_REPLACED = ".replaced"
_NO_TABLE = re.compile(
    r"(?:Table '[^']*?\.?([^'.]+)' doesn't exist|Unknown table '([^']+)' in information_schema)"
)
_NO_COLUMN = re.compile(r"Unknown column '([^']+)'")
_NO_FUNCTION = re.compile(r"FUNCTION (?:[^ .]+\.)?([^ ]+) does not exist")
_SYNTAX = re.compile(r"near '(.*)' at line (\d+)$", re.DOTALL)


class MysqlDialect:
    title = "MySQL"
    error: type[Exception] = pymysql.Error
    longest_name = 64
    name_unit = "characters"
    record_types = RecordTypes(WrittenSql("varchar(384)"), WrittenSql("longblob"), WrittenSql("datetime(6)"))
    staging = WrittenSql("create table")
    nested_as_text = WrittenSql("{column}")

    def open(
        self, schema: TableSchema, *, zone: str = "UTC", read_only: bool = False
    ) -> AbstractContextManager[Connection]:
        return open_transaction(cast("MysqlSchema", schema), zone=zone, read_only=read_only)

    def reason(self, error: Exception) -> str:
        return " ".join(str(error.args[-1] if error.args else error).split())

    def refusal(self, error: Exception, _before: str) -> QueryRefusal:
        message = self.reason(error)
        if match := _NO_TABLE.match(message):
            name = match[1] or match[2]
            return QueryRefusal(message, table=name, word=name)
        for pattern in (_NO_COLUMN, _NO_FUNCTION):
            if match := pattern.match(message):
                return QueryRefusal(message, word=match[1].rpartition(".")[2])
        if error.args[0] == ER.PARSE_ERROR and (match := _SYNTAX.search(str(error.args[-1]))):
            near = match[1]
            return QueryRefusal(f"syntax error near '{' '.join(near.split())}'", text=near or None)
        return QueryRefusal(message)

    def server(self, connection: Connection) -> str:
        return f"version {connection.get_server_info()}"

    def lock(self, connection: Connection) -> None:
        connection.execute("select get_lock(%s, %s)", (_ONE_LOCK, _LOCK_SECONDS))

    def create_schema(self, connection: Connection, schema: TableSchema) -> None:
        if not connection.database_exists:
            connection.execute(write_sql("create database {schema}", schema=schema.schema), ())
            use_database(connection, schema.schema)

    def drop_schema(self, connection: Connection, schema: TableSchema) -> None:
        connection.execute(write_sql("drop database if exists {schema}", schema=schema.schema), ())

    def tables(self, connection: Connection, schema: TableSchema) -> list[str]:
        text = "select table_name from information_schema.tables where table_schema = %s order by 1"
        return [str(row[0]) for row in connection.execute(text, (schema.schema,)).fetchall()]

    def table_options(self, connection: Connection) -> WrittenSql:
        """Texts are equal if their characters are, spaces at their end included, as in Spark."""
        collation = "nopad_bin" if "MariaDB" in connection.get_server_info() else "0900_bin"
        return WrittenSql(f" engine = InnoDB default character set utf8mb4 collate utf8mb4_{collation}")

    def columns(self, connection: Connection, name: str) -> dict[str, str]:
        return self._columns(connection, connection.database_name, name)

    def _columns(self, connection: Connection, database: str, name: str) -> dict[str, str]:
        text = (
            "select column_name, column_type from information_schema.columns"
            " where table_schema = %s and table_name = %s order by ordinal_position"
        )
        columns = connection.execute(text, (database, name)).fetchall()
        return {column: _WIDTH.sub("", kind) for column, kind in columns}

    def unique_keys(self, connection: Connection, name: str) -> list[UniqueKey]:
        text = (
            "select index_name, column_name, nullable from information_schema.statistics"
            " where table_schema = database() and table_name = %s and non_unique = 0 order by 1, 2"
        )
        indexes: dict[str, list[tuple[str, bool]]] = {}
        for index, column, nullable in connection.execute(text, (name,)).fetchall():
            indexes.setdefault(index, []).append((column, nullable == "YES"))
        return [
            UniqueKey(
                [column for column, _ in columns],
                all(nullable for _, nullable in columns),
                index == "PRIMARY",
            )
            for index, columns in indexes.items()
        ]

    def key_sql(self, _connection: Connection, columns: Sequence[str], *, nullable: bool) -> WrittenSql:
        # An index may have a NULL in several rows: `upsert` finds the one that is there.
        kind = WrittenSql("unique" if nullable else "primary key")
        return write_sql("{kind} ({columns})", kind=kind, columns=columns)

    def holds_null_keys(self, _connection: Connection) -> bool:
        return True

    def column_type(self, table: TableOutput, column: Column) -> str | None:
        kind = _type_name(column.type)
        if kind in {"longtext", "longblob"} and stored_name(column.name) in key_columns(table):
            length = _key_length(table)
            return f"varbinary({length})" if kind == "longblob" else f"varchar({length // _CHARACTER_BYTES})"
        return kind

    def size(self, connection: Connection, name: str) -> int:
        text = (
            "select coalesce(sum(data_length), 0) from information_schema.tables"
            " where table_schema = database() and table_name = %s"
        )
        return int(connection.execute(text, (name,)).fetchone()[0])

    def record_batch(self, batches: str) -> WrittenSql:
        text = (
            "insert into {batches} (query, relation, batch, stored_at) values (%s, %s, %s, now(6))"
            " on duplicate key update stored_at = if(batch < values(batch), values(stored_at), stored_at),"
            " batch = greatest(batch, values(batch))"
        )
        return write_sql(text, batches=batches)

    def upsert(self, table: TableOutput, staging: str, attempts: WrittenSql) -> Sequence[WrittenSql]:
        names, keys = [stored_name(column.name) for column in table.columns], key_columns(table)
        rest = [name for name in names if name not in keys]
        parts = {"table": table_name(table), "staging": staging, "attempt": ATTEMPT, "deleted": DELETED}
        parts |= {"attempts": attempts, "same": for_each("old.{name} <=> new.{name}", keys, " and ")}
        update = (
            "update {staging} as new straight_join {table} as old on {same} set {sets}"
            " where new.{attempt} in ({attempts}) and not new.{deleted} and {newer}"
        )
        insert = (
            "insert into {table} ({names}) select {values} from {staging} as new"
            " where new.{attempt} in ({attempts}) and not new.{deleted}{missing}"
        )
        missing = WrittenSql("")
        if keys:
            text = " and not exists (select 1 from {table} as old where {same})"
            missing = write_sql(text, table=parts["table"], same=parts["same"])
        values = for_each("new.{name}", names, ", ")
        statements = [write_sql(insert, names=names, values=values, missing=missing, **parts)]
        if keys and rest:
            sets = for_each("old.{name} = new.{name}", rest, ", ")
            statements.insert(0, write_sql(update, sets=sets, newer=newer(table, "new"), **parts))
        return statements

    def deletes(self, table: TableOutput, staging: str, attempts: WrittenSql) -> Sequence[WrittenSql]:
        text = (
            "delete old from {staging} as new straight_join {table} as old on {same}"
            " where new.{attempt} in ({attempts}) and new.{deleted} and {newer}"
        )
        parts = {"table": table_name(table), "staging": staging, "attempt": ATTEMPT, "deleted": DELETED}
        # A request to delete rows has no effect if it names none; a row with the key NULL is one like others.
        equal = "old.{name} = new.{name}" if table.appends else "old.{name} <=> new.{name}"
        same = for_each(equal, deleting_columns(table), " and ")
        return [write_sql(text, same=same, attempts=attempts, newer=newer(table, "new"), **parts)]

    def time_as_text(self, column: str, kind: Type) -> WrittenSql:
        text = "concat(max({column}), 'Z')" if kind == TIMESTAMP else "cast(max({column}) as char)"
        return write_sql(text, column=column)

    def time_of_text(self, text: str, kind: Type) -> str:
        if kind != TIMESTAMP:
            return text
        year, _, rest = text.partition("-")
        moment = datetime.fromisoformat(f"{year:0>4}-{rest}".replace("Z", "+00:00"))
        return moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat(" ", "microseconds")

    def swap(self, connection: Connection, new: str, name: str, *, same_shape: bool) -> None:  # noqa: ARG002
        """Rename both tables in one step. Permissions and views name a table, so they are of the new one."""
        replaced = f"{name}{_REPLACED}"
        connection.execute(write_sql("drop table if exists {replaced}", replaced=replaced), ())
        text = "rename table {new} to {table}"
        if self.columns(connection, name):
            text = "rename table {table} to {replaced}, {new} to {table}"
        connection.execute(write_sql(text, new=new, table=name, replaced=replaced), ())
        connection.execute(write_sql("drop table if exists {replaced}", replaced=replaced), ())

    def copy(self, connection: Connection, name: str, copy: str) -> None:
        copied = f"{copy}.copied"
        for text in (
            "drop table if exists {copied}",
            "create table {copied} like {table}",
            "insert into {copied} select * from {table}",
        ):
            connection.execute(write_sql(text, table=name, copied=copied), ())
        self.swap(connection, copied, copy, same_shape=True)

    def narrowed(
        self, connection: Connection, query: str, schema: TableSchema, tables: Sequence[StoredRelation]
    ) -> tuple[str, str, str]:
        # Servers on Linux distinguish case in names of tables.
        query = respell_names(query, {stored_name(table.name): stored_name(table.name) for table in tables})
        expressions = []
        for table in tables:
            name, database = stored_name(table.name), schema.of(table.id).schema
            stored = self._columns(connection, database, name)
            names = selected(table, stored) or list(stored)
            if stored and (len(names) < len(stored) or database != schema.schema):
                text = "{name} as (select {names} from {table})"
                expressions.append(write_sql(text, name=name, names=names, table=from_schema(database, name)))
        if not expressions:
            return "", query, ""
        named = ", ".join(expressions).replace("%%", "%")
        words = [word for word in read_words(query)[:2] if word.name.lower() in {"with", "recursive"}]
        # MariaDB does not find these names in a subquery with a `with` of its own.
        start = " ".join(word.name for word in words) or "with"
        text = query[words[-1].stop :] if words else query
        return f"{start} {named}{',' if words else ''} ", text, ""

    def fetch(
        self, connection: Connection, text: str, count: int | None, tables: Mapping[str, StoredRelation]
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Run one query; the client sends no second one."""
        if count is not None:
            connection.execute("set session sql_select_limit = %s", (count,))
        return read_rows(connection.execute(text), tables, connection.zone)


def _type_name(type_: Type) -> str | None:
    if isinstance(type_, NESTED):
        return "longtext"
    if isinstance(type_, Decimal):
        return f"decimal({type_.precision},{type_.scale})"
    return _TYPES.get(type_)


def _key_length(table: TableOutput) -> int:
    """Return how many bytes each text of a key can have."""
    keys = key_columns(table)
    kinds = [_type_name(c.type) for c in table.columns if stored_name(c.name) in keys]
    texts = sum(kind in {"longtext", "longblob"} for kind in kinds)
    return (_KEY_BYTES - _OTHER_BYTES * (len(kinds) - texts)) // texts


DIALECT = MysqlDialect()
