"""A schema of a PostgreSQL database."""

from __future__ import annotations

from typing import Any, cast

from millstream.project.names import environment_name
from millstream.project.secrets import revealed_text
from millstream.project.values import Target
from millstream.stores.databases.dialect import Dialect
from millstream.stores.databases.schema import DatabaseSchema, read_login
from millstream.stores.registry import store_module

_TIMEOUT = 10
"""Seconds for a connection."""


class PostgresSchema(DatabaseSchema, frozen=True):
    @property
    def dialect(self) -> Dialect:
        return cast("Dialect", store_module("postgres", "dialect").DIALECT)

    @property
    def search_path(self) -> str:
        """The schemas in which queries look for tables, the environment's own first."""
        return ", ".join(f'"{name}"' for name in (self.schema, self.production) if name)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a connection besides the address, with the password in clear text."""
        settings = {"user": self.username, "password": self.clear_password, "application_name": "millstream"}
        options: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
        return options if "connect_timeout" in self.url else options | {"connect_timeout": _TIMEOUT}


def postgres_schema(target: Target) -> PostgresSchema:
    settings = target.settings["tables"]
    url, username, password = read_login(settings)
    schema = revealed_text(settings.get("database_schema", "public"))
    return PostgresSchema(
        url,
        username,
        password,
        environment_name(target.environment, schema),
        target.environment,
        schema if target.environment else "",
    )
