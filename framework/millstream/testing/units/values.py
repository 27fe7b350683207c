"""A unit test that can be run: which rows come in, when, and which must come out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from millstream.text import Location

DELETED = "_deleted"
"""True in a row that says its key is gone."""


class GivenRow(Struct, frozen=True):
    """One row of an input."""

    values: dict[str, Any]
    """By column, of the column's type; what is left out is NULL."""
    about: dict[str, Any]
    """`_key`, `_timestamp`, `_value` and the like."""
    location: Location


class Given(Struct, frozen=True):
    relation: str
    """Its node's id."""
    rows: tuple[GivenRow, ...]


class ExpectedRow(Struct, frozen=True):
    values: dict[str, Any]
    location: Location
    cells: dict[str, Location] = {}
    """Where the value of each column stands; empty in CSV."""

    @property
    def deleted(self) -> bool:
        return self.values.get(DELETED) is True


class Step(Struct, frozen=True):
    """Rows that come, how far event time is then, and what has come out."""

    given: tuple[Given, ...]
    expect: tuple[ExpectedRow, ...] | None = None
    """None: nothing is said of it."""
    at: datetime | None = None
    location: Location | None = None
    """Of what is expected."""


class Overrides(Struct, frozen=True):
    """What a test replaces in the project."""

    vars: dict[str, Any] = {}
    env: dict[str, str] = {}
    functions: dict[str, Any] = {}
    """By Python function: what every call gives."""


class UnitTestCase(Struct, frozen=True):
    id: str
    """Of its node."""
    name: str
    model: str
    """Id of the model."""
    location: Location
    steps: tuple[Step, ...]
    chain: bool = False
    """All models above are computed, too, up to those that are given."""
    stepped: bool = False
    """What is expected is what each step gave, not all of it at the end."""
    strict: bool | None = None
    """None: if the model keeps state."""
    overrides: Overrides = Overrides()
    now: datetime | None = None
    """What the clock says."""
    dead_letters: tuple[ExpectedRow, ...] | None = None
    """The dead letters that must come."""
    error: str | None = None
    """What the error that must come says."""
    error_location: Location | None = None

    @property
    def relations(self) -> frozenset[str]:
        return frozenset(given.relation for step in self.steps for given in step.given)
