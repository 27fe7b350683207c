"""What somebody wants of a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct


class Update(Struct, frozen=True):
    """Queries go on from their checkpoints; one that can't is refused, unless it is rebuilt."""

    rebuild: frozenset[str] = frozenset()
    """Ids of the models whose queries are rebuilt."""
    accept_forward: bool = False
    """Go on where what happens to rows before a state changed."""


class FullRefresh(Struct, frozen=True):
    """Queries begin again, without their state and tables."""


class Regroup(Struct, frozen=True):
    """Models with state share queries as they would in a new deployment; what changes by that is rebuilt."""


class Apply(Struct, frozen=True):
    """What can't go on is rebuilt, compared with what runs, and can be rolled back."""

    untouched: Mapping[str, Sequence[str]] = {}
    """By id of a model: the columns that have the same values in both versions."""
    accept_differences: bool = False
    accept_forward: bool = False


Intent = Update | FullRefresh | Regroup | Apply


def resuming(intent: Intent) -> Update:
    """Return what is wanted of a query that is started again after a failure."""
    match intent:
        case Update(accept_forward=accepted) | Apply(accept_forward=accepted):
            return Update(accept_forward=accepted)
        case FullRefresh() | Regroup():
            return Update()


def may_rebuild(intent: Intent) -> bool:
    """Tell whether something may read its sources from their start while it has a checkpoint."""
    match intent:
        case Update(rebuild=models):
            return bool(models)
        case Apply() | Regroup():
            return True
        case FullRefresh():
            return False
