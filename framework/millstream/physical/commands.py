"""The commands that take a query on after an edit, as people would type them."""

from __future__ import annotations

import re
import shlex

from millstream.physical.values import DeadLetters, Query

_SAFE = re.compile(r"[\w.-]+")


def rebuild_command(query: Query) -> str:
    """Return what makes a query anew: its state and tables, and those of what reads it, from the start."""
    return f"millstream build{_each(query, '--rebuild', '+')}"


def forward_command(query: Query) -> str:
    """Return what lets a query go on though what happens before its state changed."""
    return f"millstream build --accept-forward{_each(query, '--select')}"


def _each(query: Query, option: str, more: str = "") -> str:
    stored = [target.model for target in query.outputs if not isinstance(target, DeadLetters)]
    names = [model.removeprefix("model.") for model in stored if model.startswith("model.")]
    return "".join(
        f" {option} {name if _SAFE.fullmatch(name) else shlex.quote(name)}{more}" for name in names
    )
