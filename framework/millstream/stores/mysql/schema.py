"""A database of MySQL or MariaDB, in which a target has its tables."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.project.names import environment_name
from millstream.project.values import Target
from millstream.stores.databases.dialect import Dialect
from millstream.stores.databases.schema import DatabaseSchema, read_login
from millstream.stores.registry import store_module

_PORT = 3306
_TIMEOUT = 10
"""Seconds for a connection."""


class MysqlSchema(DatabaseSchema, frozen=True):
    @property
    def dialect(self) -> Dialect:
        try:
            return cast("Dialect", store_module("mysql", "dialect").DIALECT)
        except ImportError as error:
            if error.name != "pymysql":
                raise
            message = "tables in MySQL need the package PyMySQL"
            remedy = "install it: pip install 'millstream[mysql]'"
            raise MillstreamError(Diagnostic("MS627", message, None, remedy)) from None

    @property
    def address(self) -> str:
        return f"{self.url}, database {self.schema}"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or _PORT

    @property
    def certificate(self) -> str | None:
        """The file with the certificates by which the server is verified, if connections are encrypted."""
        return dict(parse_qsl(urlsplit(self.url).query)).get("ssl_ca")

    @property
    def options(self) -> dict[str, Any]:
        """The options of a connection, with the password in clear text."""
        options: dict[str, Any] = {"host": self.host, "port": self.port, "charset": "utf8mb4"}
        options |= {"connect_timeout": _TIMEOUT}
        settings: dict[str, Any] = {
            "user": self.username,
            "password": self.clear_password,
            "program_name": "millstream",
        }
        if self.certificate:
            settings |= {"ssl_ca": self.certificate, "ssl_verify_cert": True, "ssl_verify_identity": True}
        return options | {name: value for name, value in settings.items() if value is not None}


def mysql_schema(target: Target) -> MysqlSchema:
    settings = target.settings["tables"]
    url, username, password = read_login(settings, "mysql_")
    schema = unquote(urlsplit(url).path.strip("/"))
    return MysqlSchema(
        url,
        username,
        password,
        environment_name(target.environment, schema),
        target.environment,
        schema if target.environment else "",
    )
