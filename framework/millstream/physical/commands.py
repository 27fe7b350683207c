"""The commands that take a query on after an edit, as people would type them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from millstream.physical.values import Query

_SAFE = re.compile(r"[\w.-]+")


def rebuild_command(query: Query) -> str:
    """Return what builds a query anew: its state and tables, from the start of its topics."""
    return f"millstream build --full-refresh{_selected(query.models)}"


def forward_command(query: Query) -> str:
    """Return what lets a query go on though what happens before its state changed."""
    return f"millstream build --accept-forward{_selected(query.models)}"


def _selected(models: Iterable[str]) -> str:
    names = [model.removeprefix("model.") for model in models if model.startswith("model.")]
    return "".join(f" --select {name if _SAFE.fullmatch(name) else shlex.quote(name)}" for name in names)
