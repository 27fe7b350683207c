"""The commands that continue or rebuild a query after an edit, as users type them."""

from __future__ import annotations

import re
import shlex

from millstream.physical.values import Query

_SAFE = re.compile(r"[\w.-]+")


def rebuild_command(query: Query) -> str:
    """Return the command that rebuilds a query and everything that reads its models."""
    return f"millstream build{_each(query, '--rebuild', '+')}"


def forward_command(query: Query) -> str:
    """Return the command that continues a query whose upstream logic changed, with its existing state."""
    return f"millstream build --accept-forward{_each(query, '--select')}"


def _each(query: Query, option: str, more: str = "") -> str:
    names = [model.removeprefix("model.") for model in query.stored if model.startswith("model.")]
    return "".join(
        f" {option} {name if _SAFE.fullmatch(name) else shlex.quote(name)}{more}" for name in names
    )
