"""Tries what a target connects to: Kafka, the stores of tables, the schema registry, the Spark master."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.cli.diagnostics import count_of
from millstream.core.errors import Diagnostic, MillstreamError, os_reason
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import cluster_of, is_embedded
from millstream.project.values import Target

if TYPE_CHECKING:
    from millstream.kafka.registry.settings import RegistryAddress

Attempt = Callable[[], str]
"""Connects, and returns what was found; raises `MillstreamError`."""

_SECONDS = 5.0
_HOST = re.compile(r"(?P<host>[^:,/]+|\[[^]]+\]):(?P<port>\d+)")


def list_connections(target: Target, root: Path) -> Iterator[tuple[str, Attempt]]:
    """Yield the name of each connection, and how to try it."""
    from millstream.kafka.registry.settings import address_of
    from millstream.stores.local import local_tables
    from millstream.stores.registry import configured_stores, store_declaration

    yield "Kafka", lambda: _kafka(target, root)
    for store in configured_stores(target.settings.get("tables") or {}):
        yield store_declaration(store).title, local_tables(store, target, root).reached
    if (address := address_of(target, str(root))) is not None:
        yield "registry", lambda: _registry(address)
    yield "Spark", lambda: _master(target)


def _kafka(target: Target, root: Path) -> str:
    if is_embedded(target):
        return "a broker of this project, which commands start when they need it"
    metadata = admin_of(cluster_of(target, root=str(root))).metadata()
    return f"{count_of(len(metadata.brokers), 'broker')}, {count_of(len(metadata.topics), 'topic')}"


def _registry(address: RegistryAddress) -> str:
    from millstream.kafka.registry.client import Registry

    with closing(Registry(address)) as registry:
        return f"{count_of(len(registry.subjects('')), 'subject')} at {address.shown}"


def _master(target: Target) -> str:
    master = str(target.settings.get("master", "local[*]"))
    if master.startswith("local"):
        return f"{master}, which commands start when they need it"
    addresses = _HOST.findall(master)
    if not addresses:
        return f"{master}: known when a command starts Spark"
    failures = []
    for host, port in addresses:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _SECONDS):
                return f"{master} answers"
        except (OSError, OverflowError) as error:
            failures.append(os_reason(error) if isinstance(error, OSError) else str(error))
    remedy = "start it, or fix `master` of the target"
    message = f"the Spark master {master} can't be reached: {failures[0]}"
    raise MillstreamError(Diagnostic("MS873", message, target.location, remedy))
