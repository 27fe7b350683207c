"""What a command intends to do with a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.time_ranges import TimeRange
from millstream.queries.verdict import AcceptedModels


class Update(Struct, frozen=True):
    """Queries continue from their checkpoints; one that can't is refused unless it is rebuilt."""

    rebuild: frozenset[NodeId] = frozenset()
    """Ids of the models whose queries are rebuilt."""
    accepted: AcceptedModels = AcceptedModels()
    ranges: Mapping[NodeId, TimeRange] = {}
    """The rows of tables that are computed again, once their queries have read all that there is."""
    fewer_rows: bool = False
    """A range may get fewer rows, although topics no longer have all records."""


class FullRefresh(Struct, frozen=True):
    """Queries start again without their state and tables."""


class Regroup(Struct, frozen=True):
    """Models with state are grouped as in a new deployment; queries that change are rebuilt."""


class Apply(Struct, frozen=True):
    """Queries that can't continue are rebuilt and compared with the running version, which is retained."""

    untouched: Mapping[NodeId, Sequence[str]] = {}
    """The columns with the same values in both versions, by id of the model."""
    accept_differences: bool = False
    accepted: AcceptedModels = AcceptedModels()


Intent = Update | FullRefresh | Regroup | Apply

CONTINUE = Update()


def accepted_by(intent: Intent) -> AcceptedModels:
    """Return what users accept so that queries continue."""
    match intent:
        case Update(accepted=accepted) | Apply(accepted=accepted):
            return accepted
        case FullRefresh() | Regroup():
            return AcceptedModels()


def resume_intent(intent: Intent) -> Update:
    """Return the intent for a query that is restarted after a failure."""
    return Update(accepted=accepted_by(intent))


def may_rebuild(intent: Intent) -> bool:
    """Whether queries with a checkpoint may read their sources from the start."""
    match intent:
        case Update(rebuild=models):
            return bool(models)
        case Apply() | Regroup():
            return True
        case FullRefresh():
            return False
