"""Connects a project to its schema registry; the local one runs as long as the connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from millstream.errors import Diagnostic, MillstreamError
from millstream.machine.jars import Progress
from millstream.project.pins import Pins
from millstream.project.values import Target
from millstream.registry.client import Registry
from millstream.registry.local import local_address, shared_registry
from millstream.registry.settings import address_of
from millstream.registry.target import has_local_registry


@contextmanager
def connected(target: Target, root: Path, pins: Pins, progress: Progress | None = None) -> Iterator[Registry]:
    """Connect to the registry of a target; a new local one starts with the pinned schemas."""
    if has_local_registry(target):
        with (
            shared_registry(root, pins, progress) as server,
            closing(Registry(local_address(server))) as found,
        ):
            yield found
        return
    address = address_of(target, str(root))
    if address is None:
        message = f"target '{target.name}' has no schema registry"
        remedy = "add schema_registry: {url: https://…} to it in profiles.yml"
        raise MillstreamError(Diagnostic("MS895", message, target.location, remedy))
    with closing(Registry(address)) as found:
        yield found
