"""Gives Spark's functions the target's schema registry, for ids that turn up while a query runs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.project.values import Project, Topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.registry.settings import Address


@contextmanager
def registry_address(project: Project) -> Iterator[Address | None]:
    """Yield the address of the registry, if a topic's values can only be read by their writers' schemas.

    The local one runs until the end.
    """
    if not any(_asks(topic) for topic in project.sources.values()):
        yield None
        return
    from millstream.project.pins import read_pins
    from millstream.registry.target import reachable_registry

    pins, _ = read_pins(project.schemas.items(), project.settings)
    with reachable_registry(project.target, Path(project.root), pins) as address:
        yield address


def _asks(topic: Topic) -> bool:
    return bool(topic.format.writers or (topic.key and topic.key.format.writers))


def use_registry(spark: SparkSession, address: Address | None) -> None:
    """Set the registry of the functions that are resolved from now on; its login stays in memory."""
    jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public way to a class of the JVM
    url, authorization, authority = "", "", b""
    if address is not None:
        from millstream.registry.settings import client_settings

        settings = client_settings(address)
        url = settings["url"].split(",")[0].strip().rstrip("/")
        if login := settings.get("basic.auth.user.info"):
            authorization = f"Basic {b64encode(login.encode()).decode()}"
        if token := settings.get("bearer.auth.token"):
            authorization = f"Bearer {token}"
        if authority_path := settings.get("ssl.ca.location"):
            authority = Path(authority_path).read_bytes()
    jvm.millstream.spark.Registry.use(url, authorization, bytearray(authority))
