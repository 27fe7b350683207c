"""The schema registry of a target, as settings of Confluent's client."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import Location
from millstream.project.logins import REGISTRY, registry_contradictions
from millstream.project.secrets import Secret, revealed_text, secrets_in
from millstream.project.values import Target

_SECONDS = 10
"""For an answer."""
_RETRIES = 1
_PAUSE = 250
"""Milliseconds before the retry."""


class RegistryAddress(Struct, frozen=True):
    """Where a registry is, and how to log in."""

    url: str | Secret
    settings: dict[str, Any] = {}
    """The target's settings under `schema_registry:`."""
    location: Location | None = None
    root: str = ""
    """The project's folder; paths of certificates are relative to it."""

    @property
    def local(self) -> bool:
        """Whether it is the registry that Millstream runs on this machine."""
        return not self.settings

    @property
    def shown(self) -> str:
        """Its URL without a password."""
        if isinstance(self.url, Secret):
            return "the address from the environment"
        return ", ".join(map(without_login, self.url.split(",")))

    @property
    def secrets(self) -> list[Secret]:
        return secrets_in([self.url, self.settings])


def address_of(target: Target, root: str) -> RegistryAddress | None:
    """Return the address that a target declares, if any."""
    settings = target.settings.get("schema_registry")
    return RegistryAddress(settings["url"], dict(settings), target.location, root) if settings else None


def client_settings(address: RegistryAddress) -> dict[str, Any]:
    """Return the client's settings, with secrets in clear text."""
    settings = {name: revealed_text(value) for name, value in address.settings.items()}
    config: dict[str, Any] = {
        "url": revealed_text(address.url),
        "timeout": _SECONDS,
        "max.retries": _RETRIES,
        "retries.wait.ms": _PAUSE,
    }
    for wrong in registry_contradictions(settings):
        _unfit(address, wrong.message, wrong.remedy)
    if "username" in settings:
        config["basic.auth.user.info"] = f"{settings['username']}:{settings['password']}"
    if "token" in settings:
        config |= {
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": settings["token"],
            "bearer.auth.logical.cluster": settings.get("cluster", ""),
        }
    for key, name in (("ca", "ca"), ("certificate", "certificate"), ("key", "key")):
        if key in settings:
            config[f"ssl.{name}.location"] = _path(address, key, settings[key])
    if "key_password" in settings:
        config["ssl.key.password"] = settings["key_password"]
    return config


def _path(address: RegistryAddress, key: str, file_name: str) -> str:
    path = Path(address.root, file_name)
    if not path.exists():
        _unfit(address, f"'{key}' names {file_name}, which does not exist", "name an existing PEM file")
    return str(path)


def without_login(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return "an invalid address"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _unfit(address: RegistryAddress, message: str, remedy: str) -> NoReturn:
    raise MillstreamError(Diagnostic(REGISTRY, f"schema_registry: {message}", address.location, remedy))
