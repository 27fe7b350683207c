"""A schema of a database, in which a target has its tables, and how names and values are stored there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from millstream.core.node_id import NodeId
from millstream.core.types import Array, Map, Row
from millstream.project.names import Environment
from millstream.project.secrets import Secret, mask_secrets, revealed_text

if TYPE_CHECKING:
    from millstream.stores.databases.dialect import Dialect

NESTED = (Array, Map, Row)
"""Types that are stored as JSON."""


class DatabaseSchema(Struct, frozen=True):
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

    @property
    def dialect(self) -> Dialect:
        """The SQL of the database. It loads the client library, which few commands need."""
        raise NotImplementedError

    @property
    def address(self) -> str:
        """Where the tables are, for messages."""
        return f"{self.url}, schema {self.schema}"

    def of(self, relation: NodeId) -> DatabaseSchema:
        """Return where a table is read."""
        if self.environment is None or not self.environment.defers(relation):
            return self
        return replace(self, schema=self.production, environment=None)

    @property
    def clear_password(self) -> str | None:
        return self.password.reveal() if isinstance(self.password, Secret) else self.password

    def masked(self, text: str) -> str:
        """Return a text on one line, without the password."""
        password = self.clear_password
        return mask_secrets(" ".join(text.split()), [Secret(password)] if password else [])


def stored_name(name: str) -> str:
    """Return the name of a table or column in a database; for PostgreSQL, that of an unquoted `userId`."""
    return name.lower()


def read_login(settings: Mapping[str, Any], prefix: str = "") -> tuple[str, str | None, Secret | None]:
    """Return the address of a database, its user and password; those of the profile precede the URL's."""
    url, user, in_url = _without_credentials(revealed_text(settings[f"{prefix}url"]))
    password = settings.get(f"{prefix}password", in_url)
    return (
        url,
        revealed_text(settings[f"{prefix}username"]) if f"{prefix}username" in settings else user,
        None if password is None else Secret(revealed_text(password)),
    )


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
