"""What a model is built from, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from millstream.plan.from_sql.catalog import PlanProblem
from millstream.plan.keys import has_fixed_offset
from millstream.plan.nodes import Node
from millstream.plan.streaming import ApartError
from millstream.plan.unbounded import Stand


class Place(Protocol):
    """What knows where it stands in the compiled SQL."""

    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...


class Around(Struct, frozen=True):
    """What a model can read."""

    provide: Callable[[str, bool], Node]
    """The node of a relation's id: as a stream of rows or changes, or at rest."""
    can_rest: Callable[[str], bool]
    """Whether a relation can be read as its newest rows, instead of row by row."""
    keyed: frozenset[str] = frozenset()
    """Python functions that keep state by key."""
    relayed: Callable[[str], Node | None] = lambda _: None
    """The node of a view whose rows are read from a topic of its own; None where it can't have one."""
    zone: str = "UTC"
    """The time zone of the session."""

    @property
    def fixed_offset(self) -> bool:
        """Tell whether clocks are never put back, so that no local time comes twice."""
        return has_fixed_offset(self.zone)


class BuiltModel(Struct, frozen=True):
    root: Node
    """The model's relation, before it is stored anywhere."""
    problems: list[PlanProblem]
    relays: tuple[str, ...] = ()
    """The views that it reads from topics of their own, since it can't share a query with them."""
    stands: tuple[Stand, ...] = ()
    """What keeps state."""


class Cut(Struct, frozen=True):
    """A step that can't run in the query of what it reads."""

    step: Node
    error: ApartError
    place: Place | None
