"""The inputs and results of building a model's plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import PlanDiagnostic
from millstream.plan.keys import has_fixed_offset
from millstream.plan.nodes import Node
from millstream.plan.streaming import SeparateQueryError
from millstream.plan.unbounded import StatefulStep
from millstream.sql.query import OpaqueBody, Select, SqlUnion
from millstream.stores.registry import DEFAULT


class Span(Protocol):
    """Anything with a span in the compiled SQL."""

    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...


def span_offsets(span: Span | None) -> tuple[int, int]:
    """Return where a span is reported: a whole body at its first word."""
    if span is None:
        return 0, 0
    if isinstance(span, Select | SqlUnion | OpaqueBody):
        return span.start, min(span.stop, span.start + len("select"))
    return span.start, span.stop


class VersionStream(Struct, frozen=True):
    """The records of a reference topic as versions, for a stream to join them as of a time."""

    rows: Node
    keys: tuple[str, ...]
    begins: str
    """The column from which a version is valid."""
    delay: str
    """How late its records can be; empty: not at all."""
    keep: str
    """For how long versions are kept after their end, or `all`."""


class PlanContext(Struct, frozen=True):
    """The relations that a model can read."""

    provide: Callable[[NodeId, bool], Node]
    """Returns the node of a relation, by its id: as a stream of rows or changes, or at rest."""
    can_rest: Callable[[NodeId], bool]
    """Returns whether a relation can be read at rest, instead of row by row."""
    inlined: Callable[[NodeId], bool]
    """Returns whether a relation is a view, whose readers compute its rows."""
    appended: Callable[[NodeId], bool] = lambda _: False
    """Returns whether a relation is an append-only table: tables over tables can read it at rest."""
    keyed: frozenset[str] = frozenset()
    """Python functions that keep state by key."""
    relayed: Callable[[NodeId], Node | None] = lambda _: None
    """Returns the node of a view that is read from a relay topic; None if it can't have one."""
    store_of: Callable[[NodeId], str] = lambda _: DEFAULT
    """Returns the name of the store of a table, by its id."""
    zone: str = "UTC"
    """The time zone of the session."""
    versions: Callable[[NodeId], VersionStream | None] = lambda _: None
    """Returns the versions of a reference topic as a stream; None if a relation is not one that has them."""
    row_fields: Mapping[str, frozenset[str]] = {}
    """By function with keyed state, the columns that it reads of a row, in lower case, if that is known."""

    @property
    def fixed_offset(self) -> bool:
        """Whether clocks are never set back, so that no local time occurs twice."""
        return has_fixed_offset(self.zone)


class BuiltModel(Struct, frozen=True):
    root: Node
    """The model's rows before they are stored."""
    diagnostics: list[PlanDiagnostic]
    relays: tuple[NodeId, ...] = ()
    """The views that it reads from relay topics, since it can't share a query with them."""
    stateful_steps: tuple[StatefulStep, ...] = ()
    """Its steps with state."""


class QueryCut(Struct, frozen=True):
    """A step that can't run in the query of its inputs."""

    step: Node
    error: SeparateQueryError
    span: Span | None
