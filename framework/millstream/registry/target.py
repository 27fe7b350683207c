"""Which registry a target uses."""

from __future__ import annotations

from millstream.kafka.cluster import is_embedded
from millstream.project.values import Target


def has_local_registry(target: Target) -> bool:
    """Return whether a target uses the registry of this machine."""
    return is_embedded(target) and not target.settings.get("schema_registry")
