"""A schema of a PostgreSQL database, and how names and values are stored there."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from millstream.core.node_id import NodeId
from millstream.core.types import Array, Map, Row
from millstream.project.names import Environment, environment_name
from millstream.project.secrets import Secret, mask_secrets, revealed_text
from millstream.project.values import Target

_TIMEOUT = 10
"""Seconds for a connection."""
NESTED = (Array, Map, Row)
"""Types that are stored as jsonb."""


class PostgresSchema(Struct, frozen=True):
    """A schema of a database; a table there has the name of its model."""

    url: str
    """The address without user and password."""
    username: str | None = None
    password: Secret | str | None = None
    schema: str = "public"
    """Where tables are written."""
    environment: Environment | None = None
    production: str = ""
    """In an environment: the schema of tables that are read from production."""

    def __post_init__(self) -> None:
        if isinstance(self.password, str):
            force_setattr(self, "password", Secret(self.password))

    def of(self, relation: NodeId) -> PostgresSchema:
        """Return where a table is read."""
        if self.environment is None or not self.environment.defers(relation):
            return self
        return replace(self, schema=self.production, environment=None)

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

    @property
    def clear_password(self) -> str | None:
        return self.password.reveal() if isinstance(self.password, Secret) else self.password

    def masked(self, text: str) -> str:
        """Return a text on one line, without the password."""
        password = self.clear_password
        return mask_secrets(" ".join(text.split()), [Secret(password)] if password else [])


def postgres_schema(target: Target) -> PostgresSchema:
    settings = target.settings["tables"]
    url, username, password = _without_credentials(revealed_text(settings["url"]))
    schema = revealed_text(settings.get("database_schema", "public"))
    return PostgresSchema(
        url,
        revealed_text(settings["username"]) if "username" in settings else username,
        Secret(revealed_text(settings["password"]))
        if "password" in settings
        else password and Secret(password),
        environment_name(target.environment, schema),
        target.environment,
        schema if target.environment else "",
    )


def stored_name(name: str) -> str:
    """Return the name of a table or column in PostgreSQL, which reads an unquoted `userId` as `userid`."""
    return name.lower()


def _without_credentials(address: str) -> tuple[str, str | None, str | None]:
    """Remove user and password from an address, including JDBC's `?user=…&password=…`."""
    parts = urlsplit(address.removeprefix("jdbc:"))
    query = dict(parse_qsl(parts.query))
    user, password = query.pop("user", None), query.pop("password", None)
    rest = parts._replace(netloc=parts.netloc.rpartition("@")[2], query=urlencode(query))
    # `urlunsplit` drops the empty host of `postgresql:///name`.
    url = urlunsplit(rest) if rest.netloc else f"{rest.scheme}://{urlunsplit(rest._replace(scheme=''))}"
    decoded = (unquote(part) if part else None for part in (parts.username, parts.password))
    in_user, in_password = decoded
    return url, in_user or user, in_password or password
