"""Where state tables, reference topics and checkpoints live, by the target's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import force_setattr

from millstream.errors import Diagnostic, MillstreamError
from millstream.project.folders import target_folder
from millstream.project.secrets import Secret
from millstream.project.values import Target

REFERENCES = "_sources"
"""The folder of reference topics."""


class Delta(Struct, frozen=True):
    """A folder of Delta tables."""

    path: str

    def place_of(self, relation: str) -> str:
        """Return the folder of a table: `model.totals`, or a reference topic `source.shop.products`."""
        kind, _, name = relation.partition(".")
        parts = (self.path.rstrip("/"), *((REFERENCES,) if kind == "source" else ()), name)
        return "/".join(parts)


class Postgres(Struct, frozen=True):
    """A schema of a PostgreSQL database; a table there has the name of its model."""

    url: str
    """Without user and password, which an address may carry."""
    username: str | None = None
    password: Secret | str | None = None
    schema: str = "public"

    def __post_init__(self) -> None:
        if isinstance(self.password, str):
            force_setattr(self, "password", Secret(self.password))


Place = Delta | Postgres


def delta_of(target: Target, root: Path) -> Delta:
    """Return where Delta tables live; reference topics do, whatever the store of models is."""
    given = (target.settings.get("tables") or {}).get("path")
    return Delta(_folder(given, root) if given else str(target_folder(root, target.name) / "tables"))


def postgres_of(target: Target) -> Postgres | None:
    """Return the target's PostgreSQL, where it names one."""
    settings = target.settings.get("tables") or {}
    if not settings.get("url"):
        return None
    url, username, password = _parted(_text(settings["url"]))
    return Postgres(
        url,
        _text(settings["username"]) if "username" in settings else username,
        Secret(_text(settings["password"])) if "password" in settings else password and Secret(password),
        _text(settings.get("database_schema", "public")),
    )


def place_of(model: str, options: Mapping[str, Any], target: Target, root: Path) -> Place:
    """Return where a model's table lives: its own option `store` comes before the target's."""
    default = (target.settings.get("tables") or {}).get("store", "delta")
    if model.startswith("source.") or (options.get("store") or default) == "delta":
        return delta_of(target, root)
    if (found := postgres_of(target)) is not None:
        return found
    name = model.removeprefix("model.")
    message = f"the table '{name}' is stored in PostgreSQL, but target '{target.name}' names none"
    remedy = "add tables: {url: postgresql://host:5432/name, …} to the target, or remove store: postgres"
    raise MillstreamError(Diagnostic("MS841", message, target.location, remedy))


def checkpoints_of(target: Target, root: Path) -> str:
    given = target.settings.get("checkpoints")
    return _folder(given, root) if given else str(target_folder(root, target.name) / "checkpoints")


def _folder(given: str | Secret, root: Path) -> str:
    """Return an address as it is, and a path relative to the project as a whole one."""
    text = _text(given)
    return (
        text if "://" in text or text.startswith("file:") else str(root.resolve() / Path(text).expanduser())
    )


def _parted(address: str) -> tuple[str, str | None, str | None]:
    """Take user and password out of an address, also out of JDBC's `?user=…&password=…`."""
    parts = urlsplit(address.removeprefix("jdbc:"))
    query = dict(parse_qsl(parts.query))
    user, password = query.pop("user", None), query.pop("password", None)
    rest = parts._replace(netloc=parts.netloc.rpartition("@")[2], query=urlencode(query))
    # `urlunsplit` drops the empty host of `postgresql:///name`.
    url = urlunsplit(rest) if rest.netloc else f"{rest.scheme}://{urlunsplit(rest._replace(scheme=''))}"
    given = (unquote(part) if part else None for part in (parts.username, parts.password))
    in_user, in_password = given
    return url, in_user or user, in_password or password


def _text(value: Any) -> str:
    return value.reveal() if isinstance(value, Secret) else str(value)
