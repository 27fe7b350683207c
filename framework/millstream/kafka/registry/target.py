"""Which registry a target uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.kafka.cluster import is_embedded
from millstream.kafka.registry.local import local_address, shared_registry
from millstream.kafka.registry.settings import RegistryAddress, address_of
from millstream.local.jars import Progress
from millstream.project.pins import Pins
from millstream.project.values import Target


def has_local_registry(target: Target) -> bool:
    """Return whether a target uses the registry of this machine."""
    return is_embedded(target) and not target.settings.get("schema_registry")


@contextmanager
def reachable_registry(
    target: Target, root: Path, pins: Pins, progress: Progress | None = None
) -> Iterator[RegistryAddress | None]:
    """Yield the address of a target's registry, if it has one.

    The local one runs until the end; if it is new, it starts with the pinned schemas.
    """
    if not has_local_registry(target):
        yield address_of(target, str(root))
        return
    with shared_registry(root, pins, progress) as server:
        yield local_address(server)
