"""The commands that continue or rebuild a query after an edit, as users type them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from millstream.core.node_id import NodeId
from millstream.queries.values import Query
from millstream.queries.verdict import Verdict

_SAFE = re.compile(r"[\w.:-]+")


APPLY = "millstream apply"
"""Rebuilds what can't continue alongside the running version, compares and swaps it, also during `run`."""


def rebuild_command(models: Iterable[NodeId]) -> str:
    """Return the command that rebuilds models and everything that reads them."""
    return f"millstream build{_models(models, '--rebuild', '+')}"


def full_refresh(models: Iterable[NodeId]) -> str:
    """Return the command that builds models from nothing, and what it removes."""
    return f"millstream build --full-refresh{_models(models, '--select')} (this first removes what is stored)"


def continue_command(query: Query, verdict: Verdict) -> str:
    """Return the command that continues a query with the state and the rows that it has."""
    return f"millstream build {accept_command(verdict)}{_models(query.stored, '--select')}"


def accept_command(verdict: Verdict) -> str:
    """Return the option that accepts a verdict."""
    return " ".join(["--accept", *(f"{kind}:{_shell(name)}" for kind, name in to_accept(verdict))])


def to_accept(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield what must be accepted so that a query continues: kinds, and names of models."""
    for kind, models in (("mixed", verdict.mixed), ("stored", verdict.stored)):
        yield from ((kind, _selector(model)) for model in models)


def _models(stored: Iterable[NodeId], option: str, more: str = "") -> str:
    models = [model for model in stored if model.kind == "model"]
    return "".join(
        [f" {option}" if models else "", *(f" {_shell(_selector(model))}{more}" for model in models)]
    )


def _selector(model: NodeId) -> str:
    kind, name = model.kind, model.name
    return name if kind == "model" else f"{kind}:{name}"


def _shell(name: str) -> str:
    return name if _SAFE.fullmatch(name) else shlex.quote(name)
