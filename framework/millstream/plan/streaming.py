"""Which stateful steps Spark can stack in a single streaming query.

Spark's own check (`UnsupportedOperationChecker`) rejects some of what is wrong, but misses two output modes
on one path, or a second watermark that never advances. This table is the only place with these rules.
`docs/streaming.md` shows it, and tests run each of its cells on Spark.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

from msgspec import Struct

from millstream.core.errors import UnlocatedDiagnostic
from millstream.plan.nodes import Aggregate, Dedupe, Join, Node, Stateful, TemporalJoin, Watermark

Kind = Literal[
    "watermark",
    "closing aggregate",
    "refining aggregate",
    "dedupe",
    "bounded join",
    "unbounded join",
    "outer join",
    "temporal join",
    "keyed function",
    "table changes",
]
"""The kind of a step within its query. A watermark has no state, but a query has only one. Changes of a
table, and records of a reference topic, are rows whose other sides may change as well."""

STEPS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "table changes")
STATES: tuple[Kind, ...] = STEPS[1:]


class SeparateQueries(Struct, frozen=True):
    """The upper step needs a separate query, which reads the rows of the lower one from a topic."""

    message: str


class UnsupportedSteps(UnlocatedDiagnostic, frozen=True):
    """The steps are not supported, even in separate queries."""


_MODES = (
    "closed windows are emitted in append mode and refined rows in update mode; a query has one output mode"
)
_OUTER = (
    "an outer join of streams emits unmatched rows in append mode only, and refined rows need update mode"
)
_SECOND = "a query has one watermark, the minimum of all, so a second one above state would never advance"
_LATE = UnsupportedSteps(
    "MS528",
    "a join without time bounds on both sides emits rows that are older than the watermark: windows above it "
    "would drop them as late",
    "bound the event times of the join on both sides: a.at between b.at - interval 1 hour and b.at",
)

_WAITED = "its rows have waited for versions, and are older than the watermark of their query"
_VERSIONS = UnsupportedSteps(
    "MS686",
    "rows that change later would have to be joined again with each change",
    "store them as a table, and make the model a table that joins it with the versions",
)

_CHANGES = UnsupportedSteps(
    "MS510",
    "rows that change later would be counted again with each change",
    "aggregate the events instead, or let the first aggregate emit on close",
)
_MATCHES = UnsupportedSteps(
    "MS513",
    "rows that change later can't be matched again",
    "store them as a table, and join the table as a lookup",
)

RULES: dict[tuple[Kind, Kind], SeparateQueries | UnsupportedSteps] = {
    ("closing aggregate", "refining aggregate"): SeparateQueries(_MODES),
    ("outer join", "refining aggregate"): SeparateQueries(_OUTER),
    ("unbounded join", "closing aggregate"): _LATE,
    **{(below, "watermark"): SeparateQueries(_SECOND) for below in STATES if below != "refining aggregate"},
    **{
        ("refining aggregate", above): _MATCHES if above.endswith("join") else _CHANGES
        for above in STEPS
        if above != "watermark"
    },
    ("refining aggregate", "temporal join"): _VERSIONS,
    **{("temporal join", above): SeparateQueries(_WAITED) for above in STATES if above != "temporal join"},
}
"""By the lower and the upper step. Other pairs run in one query."""


class SeparateQueryError(Exception):
    """A step that can't share a query with its inputs."""

    def __init__(self, above: Kind, below: frozenset[Kind], why: str) -> None:
        super().__init__(why)
        self.above = above
        self.below = below
        """The steps that it must be separated from."""
        self.why = why


def find_conflicts(above: Kind, below: Collection[Kind]) -> dict[Kind, SeparateQueries | UnsupportedSteps]:
    """Return the steps below that prevent a step from running in their query."""
    if above == "watermark" and "watermark" not in below:
        return {}
    return {kind: rule for kind in below if (rule := RULES.get((kind, above))) is not None}


def kind_of(node: Node, *, bounded: bool = False) -> Kind | None:
    """Return the kind of a step over streams; None for steps without state."""
    match node:
        case Aggregate():
            return "closing aggregate" if node.emit == "on_close" else "refining aggregate"
        case Dedupe():
            return "dedupe"
        case Join():
            if node.kind in {"left", "right", "full"}:
                return "outer join"
            return "bounded join" if bounded else "unbounded join"
        case TemporalJoin():
            return "temporal join"
        case Stateful():
            return "keyed function"
        case Watermark():
            return "watermark"
    return None
