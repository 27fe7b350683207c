"""The values of a unit test: rows that are given, when they arrive, and rows that are expected."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.core.text import Location

DELETED = "_deleted"
"""True in a row whose key is deleted."""
HEADERS = "_headers"
"""The headers of a record; of an expected one, without those of Millstream."""


class GivenRow(Struct, frozen=True):
    """One row of an input."""

    values: dict[str, Any]
    """Values by column, with the column's type; missing columns are NULL."""
    metadata: dict[str, Any]
    """`_key`, `_timestamp`, `_value` and so on."""


class StepInput(Struct, frozen=True):
    relation: NodeId
    """The id of its node."""
    rows: tuple[GivenRow, ...]


class ExpectedRow(Struct, frozen=True):
    values: dict[str, Any]
    location: Location
    cells: dict[str, Location] = {}
    """The location of each column's value; empty for CSV."""


class UnitStep(Struct, frozen=True):
    """Rows that arrive, the event time reached after them, and the expected rows."""

    inputs: tuple[StepInput, ...]
    expect: tuple[ExpectedRow, ...] | None = None
    """None: the rows are not compared."""
    event_time: datetime | None = None
    location: Location | None = None
    """The location of `expect`."""


class Overrides(Struct, frozen=True):
    """What a test overrides in the project."""

    vars: dict[str, Any] = {}
    env: dict[str, str] = {}
    functions: dict[str, Any] = {}
    """The fixed value of each replaced Python function."""


class UnitTestCase(Struct, frozen=True):
    id: NodeId
    """The id of its node."""
    name: str
    model: NodeId
    """The id of the tested model."""
    location: Location
    steps: tuple[UnitStep, ...]
    chain: bool = False
    """The models upstream are computed, too, up to the given ones."""
    stepped: bool = False
    """The expected rows are those of each step, not those of the end."""
    strict: bool | None = None
    """None: strict if the model keeps state."""
    functions: dict[str, Any] = {}
    """The value that each replaced Python function returns."""
    now: datetime | None = None
    """The time that the clock shows."""
    dead_letters: tuple[ExpectedRow, ...] | None = None
    error: str | None = None
    """Part of the message of the expected error."""
    error_location: Location | None = None

    @property
    def relations(self) -> frozenset[NodeId]:
        return frozenset(step_input.relation for step in self.steps for step_input in step.inputs)

    @property
    def names_headers(self) -> bool:
        """Whether an expected row names the headers of its record."""
        return any(HEADERS in row.values for step in self.steps for row in step.expect or ())

    def diagnostic(self, code: str, message: str, remedy: str) -> Diagnostic:
        return Diagnostic(code, f"unit test '{self.name}': {message}", self.location, remedy)
