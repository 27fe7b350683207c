"""The Kafka cluster of a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from millstream.project.secrets import Secret, secrets_in
from millstream.project.values import Target

Value = str | Secret
Options = dict[str, Value]
"""Settings of one client; secrets stay hidden until `reveal_options`."""


class Cluster(Struct, frozen=True):
    bootstrap_servers: Value
    settings: dict[str, Any] = {}
    """The target's settings under `kafka:`; empty for the embedded broker."""
    trigger: str | None = None
    embedded: bool = False
    root: str = ""
    """The project's folder; paths of certificates are relative to it."""

    @property
    def secrets(self) -> list[Secret]:
        return secrets_in([self.bootstrap_servers, self.settings])


def is_embedded(target: Target) -> bool:
    return bool(target.settings.get("kafka", "embedded") == "embedded")


def cluster_of(target: Target, bootstrap_servers: str | None = None, root: str = "") -> Cluster:
    """Return a target's cluster; for the embedded broker, the caller passes its address."""
    trigger = target.settings.get("trigger")
    trigger = trigger.reveal() if isinstance(trigger, Secret) else trigger
    if is_embedded(target):
        assert bootstrap_servers is not None
        return Cluster(bootstrap_servers, {}, trigger, embedded=True, root=root)
    settings: Mapping[str, Any] = target.settings["kafka"]
    return Cluster(settings["bootstrap_servers"], dict(settings), trigger, root=root)


def reveal_options(options: Mapping[str, Value]) -> dict[str, str]:
    """Return options with their secrets in clear text, only for the client that needs them."""
    return {name: option_text(value) for name, value in options.items()}


def option_text(value: Any) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, list):
        return ",".join(map(option_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
