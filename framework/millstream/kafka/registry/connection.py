"""Connects a project to its schema registry; the local one runs as long as the connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.registry.client import Registry
from millstream.kafka.registry.settings import RegistryAddress
from millstream.kafka.registry.target import reachable_registry
from millstream.local.jars import Progress
from millstream.project.pins import Pins
from millstream.project.values import Target


@contextmanager
def connect_registry(
    target: Target, root: Path, pins: Pins, progress: Progress | None = None
) -> Iterator[Registry]:
    """Connect to the registry of a target; a new local one starts with the pinned schemas."""
    with (
        reachable_registry(target, root, pins, progress) as address,
        closing(Registry(require_address(address, target))) as registry,
    ):
        yield registry


def require_address(address: RegistryAddress | None, target: Target) -> RegistryAddress:
    """Return an address, or report that there is none."""
    if address is None:
        message = f"target '{target.name}' has no schema registry"
        remedy = "add schema_registry: {url: https://…} to it in profiles.yml"
        raise MillstreamError(Diagnostic("MS895", message, target.location, remedy))
    return address
