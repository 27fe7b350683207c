"""Where a target keeps its tables."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from millstream.project.secrets import Secret
from millstream.project.values import Target
from millstream.stores.registry import DEFAULT, configured_stores, store_declaration


def table_places(target: Target) -> dict[str, str]:
    """Return a digest of where each store keeps tables; that of the default store is also under ''."""
    settings: Mapping[str, Any] = target.settings.get("tables") or {}
    digests: dict[str, str] = {}
    for store in configured_stores(settings):
        address = repr([_text(settings.get(key)) for key in store_declaration(store).location])
        digests[store] = f"{store} {blake2b(address.encode(), digest_size=8).hexdigest()}"
    default = _text(settings.get("store")) or DEFAULT
    return digests | {"": digests.get(default, default)}


def _text(value: Any) -> str:
    return value.reveal() if isinstance(value, Secret) else str(value or "")
