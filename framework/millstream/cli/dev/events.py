"""What a round of `dev` tells, as values: each is a line of JSON, and what a terminal shows."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from millstream.core.encoding import to_json
from millstream.results.test_results import TestResult

Data: TypeAlias = Mapping[str, Any]


class RoundBegan(Struct, frozen=True, tag_field="event", tag="round"):
    files: tuple[str, ...]
    """The files that were saved, removed or renamed since the last complete round; none for the first one."""


class ProjectCompiled(Struct, frozen=True, tag_field="event", tag="compiled"):
    models: int
    diagnostics: tuple[Data, ...]
    """As in `compile --output json`."""
    seconds: float


class EditReviewed(Struct, frozen=True, tag_field="event", tag="reviewed"):
    against: str
    """What runs on the target, or the project as it was before."""
    summary: str
    rebuilds: tuple[str, ...]
    """The queries that the edit rebuilds, by name."""
    keeps: int
    """How many queries continue as they are."""
    queries: tuple[Data, ...]
    """The others, as in `review --output json`."""
    changed: tuple[str, ...]
    """Models with other rows or columns than before the edit, also because of what they read."""
    removed: tuple[str, ...]


class TestsEnded(Struct, frozen=True, tag_field="event", tag="tests"):
    results: tuple[TestResult, ...]
    """As in `test --output json`."""
    seconds: float

    __test__ = False  # not a test of pytest


class ModelComputed(Struct, frozen=True, tag_field="event", tag="rows"):
    model: str
    columns: tuple[str, ...]
    rows: tuple[Data, ...]
    """The first ones."""
    total: int
    """How many rows the sample gives."""
    changes: Data | None
    """What differs from before the edit: `same`, `added`, `removed`, `changed` rows; null for a new model."""
    diagnostics: tuple[Data, ...]
    """Why it could not be computed."""
    seconds: float


class RoundEnded(Struct, frozen=True, tag_field="event", tag="done"):
    exit_code: int
    """1 if a test or a model failed, 2 if the project does not compile."""
    seconds: float
    diagnostics: tuple[Data, ...] = ()
    """What ended the round early."""
    left_out: tuple[str, ...] = ()
    """Models that changed, too, and were not computed."""


Event: TypeAlias = RoundBegan | ProjectCompiled | EditReviewed | TestsEnded | ModelComputed | RoundEnded
_DECODER = msgspec.json.Decoder(Event, float_hook=Decimal)  # with all digits of a decimal


def to_line(event: Event) -> str:
    return to_json(event).decode()


def from_line(line: str | bytes) -> Event:
    event: Event = _DECODER.decode(line)
    return event
