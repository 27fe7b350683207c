"""The databases that store tables, each a real server."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from millstream.stores.databases.local import LocalDatabase
from millstream.stores.databases.spark.tables import DatabaseTables
from millstream.stores.mysql.spark import MysqlTransfer
from millstream.stores.postgres.spark import PostgresTransfer
from support import mariadb, postgres

_PROFILES = """
    shop:
      target: local
      outputs:
        local:
          master: local[2]
          kafka: embedded
          spark: {{spark.sql.shuffle.partitions: 1}}
          tables: {options}
"""
_PASSWORD = "\"{{ env_var('DATABASE_PASSWORD') }}\""


@dataclass
class Database:
    store: str
    schema: Any
    tables: DatabaseTables
    options: dict[str, str]
    """Those of a profile, except the password."""
    password: str
    """The option with the password."""
    program: Any

    @property
    def title(self):
        return self.schema.dialect.title

    @property
    def local(self):
        return LocalDatabase(self.schema)

    def rows(self, text):
        """Run SQL in the schema; return what it selects."""
        return self.program.rows(self.schema, text)

    def guest(self):
        """Return the schema for a user who may not create anything."""
        return replace(self.schema, username=self.program.create_guest(self.schema))

    def allow_guest(self):
        self.program.allow_guest(self.schema)

    def mapping(self, *, default=True):
        """Return `tables:` of a profile; with `default`, all tables are in the database."""
        options = {"store": self.store} if default else {}
        options |= {name: f'"{value}"' for name, value in self.options.items()} | {self.password: _PASSWORD}
        return "{" + ", ".join(f"{name}: {value}" for name, value in options.items()) + "}"

    def profiles(self, *, default=True):
        return _PROFILES.format(options=self.mapping(default=default))


def of_postgres(schema):
    options = {"url": schema.url, "username": schema.username, "database_schema": schema.schema}
    tables = DatabaseTables(schema, PostgresTransfer())
    return Database("postgres", schema, tables, options, "password", postgres)


def of_mysql(schema):
    options = {"mysql_url": schema.url, "mysql_username": schema.username}
    tables = DatabaseTables(schema, MysqlTransfer())
    return Database("mysql", schema, tables, options, "mysql_password", mariadb)


@pytest.fixture(params=["postgres", "mysql"])
def database(request, monkeypatch):
    """Return a database without tables; the profile's password is in the environment."""
    monkeypatch.setenv("DATABASE_PASSWORD", postgres.PASSWORD)
    assert mariadb.PASSWORD == postgres.PASSWORD
    if request.param == "postgres":
        return of_postgres(request.getfixturevalue("postgres"))
    return of_mysql(request.getfixturevalue("mariadb"))
