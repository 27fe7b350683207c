"""Connections to MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

import pymysql
from pymysql.constants import ER

from millstream.sql.dialect_words import quote_standard
from millstream.stores.databases.unreachable import invalid_address, unreachable
from millstream.stores.mysql.schema import MysqlSchema

MODE = "ANSI_QUOTES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""Names are quoted as in other databases, and values that a column can't hold are errors."""
_QUERY_MODE = f"{MODE},PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES"
"""For the SQL of users: texts as in other databases, too."""
_PARAMETERS = frozenset(("ssl_ca",))


class MysqlConnection(pymysql.connections.Connection):
    zone: ZoneInfo = ZoneInfo("UTC")
    """In which a query returns times."""
    database_name: str = ""
    database_exists: bool = True

    def execute(self, text: str, parameters: tuple[Any, ...] | None = None) -> Any:
        cursor = self.cursor()
        cursor.execute(text, parameters)
        return cursor


@contextmanager
def open_transaction(
    schema: MysqlSchema, *, zone: str = "UTC", read_only: bool = False
) -> Iterator[MysqlConnection]:
    """Open one transaction, which is committed unless an exception is raised."""
    connection = _connect(schema, _QUERY_MODE if read_only else MODE)
    try:
        connection.zone = ZoneInfo(zone)
        connection.execute("set session time_zone = '+00:00'")
        use_database(connection, schema.schema)
        if read_only:
            if not connection.database_exists:
                # Names of tables that were not built then say so, and those of other databases are read.
                connection.execute("use information_schema")
            connection.execute("start transaction read only")
        yield connection
        connection.commit()
    finally:
        connection.close()


def use_database(connection: MysqlConnection, name: str) -> None:
    """Select the database of names without one; it may not exist yet."""
    connection.database_name = name
    try:
        connection.execute(f"use {quote_standard(name)}")
        connection.database_exists = True
    except pymysql.err.OperationalError as error:
        if error.args[0] != ER.BAD_DB_ERROR:
            raise
        connection.database_exists = False


def _connect(schema: MysqlSchema, mode: str) -> MysqlConnection:
    try:
        options, parts = schema.options, urlsplit(schema.url)
    except ValueError:  # the port is not a number
        parts = None
    if parts is None or not (parts.scheme in {"mysql", "mariadb"} and parts.hostname and schema.schema):
        raise invalid_address(schema.dialect, "mysql_url: mysql://host:3306/name")
    if unknown := sorted({name for name, _ in parse_qsl(parts.query)} - _PARAMETERS):
        reason = f"'{unknown[0]}' is not a parameter of its address; there is only ssl_ca, a file"
        raise unreachable(schema, reason, "mysql_url")
    try:
        return MysqlConnection(sql_mode=mode, binary_prefix=True, **options)
    except (pymysql.Error, OSError, RuntimeError) as error:
        reason = str(error.args[-1]) if error.args else str(error)
        raise unreachable(schema, reason, "mysql_url, mysql_username and mysql_password") from None
