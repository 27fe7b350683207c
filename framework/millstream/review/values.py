"""What a review found, as values: every format writes these, and programs read them as JSON.

Texts are as users wrote them; a format escapes what it must. Nothing in them is of this machine or of today.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from millstream.materialization import StoredAs

SCHEMA_VERSION = 1

Level = Literal["breaking", "rebuild", "forward", "cost"]
LEVELS: tuple[Level, ...] = ("breaking", "rebuild", "forward", "cost")
"""What `--fail-on` may name, worst first."""

Status = Literal["added", "removed", "renamed", "changed", "affected"]
Part = Literal["body", "contract", "state", "configs", "relation", "macros", "persisted_descriptions"]
ColumnKind = Literal["added", "removed", "renamed", "retyped", "nullability", "meaning"]


class EditedLine(Struct, frozen=True):
    """A line of a file of the project, and what stands there."""

    path: str
    line: int
    text: str = ""


class Reader(Struct, frozen=True):
    """Who reads a column: another column, or the rows of a model as a whole."""

    id: str
    column: str = ""
    """Empty: it decides over rows."""
    kind: str = ""
    """direct, computed, filter, join, group or order."""


class ColumnChange(Struct, frozen=True, kw_only=True):
    name: str
    kind: ColumnKind
    before: str = ""
    after: str = ""
    because: tuple[str, ...] = ()
    """Of a changed meaning: the ids of those whose edit it is; empty: it was edited here."""
    readers: tuple[Reader, ...] = ()
    """Those that read it directly."""
    downstream: tuple[str, ...] = ()
    """Ids of all models below that depend on it, directly or not."""
    exposures: tuple[str, ...] = ()
    """Names of exposures and metrics that it reaches."""
    tests: tuple[str, ...] = ()
    """Tests that look at it."""


class NodeChange(Struct, frozen=True, kw_only=True):
    """A model, source, seed, function, exposure or setting."""

    id: str
    kind: str
    status: Status
    path: str = ""
    stored: str = ""
    """Of a model whose rows others can read: `topic x` or `table x`."""
    old_id: str = ""
    """Of one that was renamed."""
    parts: tuple[Part, ...] = ()
    """What `state:modified.<part>` selects it by."""
    what: tuple[str, ...] = ()
    """In sentences."""
    rows: bool = False
    """Which rows there are changed, and so all of its columns."""
    because: tuple[str, ...] = ()
    """Of one that is only affected: the ids whose change it is."""
    columns: tuple[ColumnChange, ...] = ()
    exposures: tuple[str, ...] = ()
    """Of a model that is gone: who read it."""
    places: tuple[EditedLine, ...] = ()
    """Where it was edited: the first lines that differ."""


class ReplayRead(Struct, frozen=True):
    """A topic that a rebuild reads again."""

    topic: str
    start: str
    """From where: its start, or what the source says."""
    holds: str
    """What the topic still has; empty: only Kafka knows."""
    records: int | None = None
    """About how many; None: nobody can tell."""


class Replay(Struct, frozen=True):
    """How a query gets its state anew."""

    command: str
    models: tuple[str, ...]
    """Names of those that are built anew."""
    reads: tuple[ReplayRead, ...] = ()
    sent_again: tuple[str, ...] = ()
    """Topics that get records again which their consumers have seen."""
    tables: tuple[str, ...] = ()
    """Tables whose rows are made anew beside those that are there, and swapped."""
    seconds: float | None = None


QueryStatus = Literal["same", "forward", "rebuild", "new", "removed"]


class QueryChange(Struct, frozen=True, kw_only=True):
    """A streaming query that runs, or is to run."""

    name: str
    status: QueryStatus
    models: tuple[str, ...] = ()
    """Names of those whose outputs it makes."""
    reasons: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    """What `apply` does with it, in this order."""
    notes: tuple[str, ...] = ()
    """What happens beside its state: models that join it, or leave."""
    stateful: bool = False
    command: str = ""
    """What goes on with a `forward` change."""
    replay: Replay | None = None


class ContractChange(Struct, frozen=True, kw_only=True):
    """A topic or table as those see it who read it."""

    kind: StoredAs
    name: str
    model: str
    status: Literal["added", "removed", "changed"]
    breaking: tuple[str, ...] = ()
    """Why readers of today can't go on."""
    notes: tuple[str, ...] = ()
    """What they should know."""
    todo: tuple[str, ...] = ()
    """What somebody must do with the topic or table that is there."""


class CostRow(Struct, frozen=True):
    name: str
    before: float
    after: float


class RuleChange(Struct, frozen=True, kw_only=True):
    """Something that the optimizer did in one version and not in the other."""

    rule: str
    status: Literal["started", "stopped"]
    what: str
    models: tuple[str, ...] = ()
    place: EditedLine | None = None
    """The edited line that it comes from."""


class Base(Struct, frozen=True):
    """What is compared with."""

    name: str
    commit: str = ""


class Review(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    project: str
    target: str
    against: Base
    levels: tuple[Level, ...] = ()
    """Those that are reached, worst first."""
    nodes: tuple[NodeChange, ...] = ()
    queries: tuple[QueryChange, ...] = ()
    """Those that are not the same."""
    same_queries: int = 0
    contracts: tuple[ContractChange, ...] = ()
    costs: tuple[CostRow, ...] = ()
    """Numbers that differ."""
    rules: tuple[RuleChange, ...] = ()
    diagram: str = ""
    """A mermaid flowchart of what changed and its neighbours."""
    limits: tuple[str, ...] = ()
    """What can't be told, and why."""
