"""The values of a review, which all formats write and programs read as JSON.

Texts are not escaped; that is up to each format. They contain nothing specific to this machine or day.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from millstream.core.node_id import NodeId
from millstream.outputs.registry import StoredAs

SCHEMA_VERSION = 2

Level = Literal["breaking", "rebuild", "mixed", "stored", "cost"]
LEVELS: tuple[Level, ...] = ("breaking", "rebuild", "mixed", "stored", "cost")
"""The values of `--fail-on`, worst first."""

Status = Literal["added", "removed", "renamed", "changed", "affected"]
Part = Literal["body", "contract", "state", "configs", "relation", "macros", "persisted_descriptions"]
ColumnKind = Literal["added", "removed", "renamed", "retyped", "nullability", "meaning"]


class EditedLine(Struct, frozen=True):
    """A line in a file of the project, with its text."""

    path: str
    line: int
    text: str = ""


class ColumnUse(Struct, frozen=True):
    """A reader of a column: another column, or all rows of a model."""

    id: NodeId
    column: str = ""
    """Empty: it decides which rows exist."""
    kind: str = ""
    """direct, computed, filter, join, group or order."""


class ColumnChange(Struct, frozen=True, kw_only=True):
    name: str
    kind: ColumnKind
    before: str = ""
    after: str = ""
    because: tuple[NodeId, ...] = ()
    """For a changed meaning, the ids of the nodes whose edit changed it; empty: it was edited here."""
    readers: tuple[ColumnUse, ...] = ()
    """Its direct readers."""
    downstream: tuple[NodeId, ...] = ()
    """Ids of all models that depend on it, directly or not."""
    exposures: tuple[str, ...] = ()
    """Names of exposures and metrics that depend on it."""
    tests: tuple[str, ...] = ()
    """The names of its tests."""


class NodeChange(Struct, frozen=True, kw_only=True):
    """A model, source, seed, function, exposure or setting."""

    id: NodeId
    kind: str
    status: Status
    path: str = ""
    stored: str = ""
    """For a stored model: `topic x` or `table x`."""
    old_id: str = ""
    """The previous id of a renamed model."""
    parts: tuple[Part, ...] = ()
    """The parts for which `state:modified.<part>` selects it."""
    what: tuple[str, ...] = ()
    """The changes, as sentences."""
    rows: bool = False
    """Which rows exist changed, and so did all columns."""
    because: tuple[NodeId, ...] = ()
    """For a node that is only affected, the ids of the nodes whose change affects it."""
    columns: tuple[ColumnChange, ...] = ()
    exposures: tuple[str, ...] = ()
    """For a removed model, the exposures that read it."""
    edited_lines: tuple[EditedLine, ...] = field(default=(), name="places")
    """The first edited lines."""


class ReplayRead(Struct, frozen=True):
    """A topic or another source that a rebuild reads again."""

    topic: str
    """The topic, or the name of another source."""
    start: str
    """Where it starts: at the topic's start, or as the source declares."""
    holds: str
    """What the topic still contains; empty: unknown without asking Kafka."""
    records: int | None = None
    """Approximately how many; None: unknown."""
    kind: str = "topic"
    """What the kind of source is called."""


class QueryRebuild(Struct, frozen=True):
    """How a query is rebuilt."""

    command: str
    models: tuple[str, ...]
    """Names of the models that are rebuilt."""
    reads: tuple[ReplayRead, ...] = ()
    sent_again: tuple[str, ...] = ()
    """Topics that receive records again."""
    tables: tuple[str, ...] = ()
    """Tables that are rebuilt alongside the running version, then swapped."""
    seconds: float | None = None


QueryStatus = Literal["same", "stored", "mixed", "rebuild", "new", "removed"]
NOT_SAME: frozenset[QueryStatus] = frozenset({"stored", "mixed", "rebuild"})
"""A query can't simply continue."""


class QueryChange(Struct, frozen=True, kw_only=True):
    """A streaming query in one of the versions."""

    name: str
    status: QueryStatus
    models: tuple[str, ...] = ()
    """Names of the models that it stores."""
    reasons: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    """What `apply` does with it, in order."""
    notes: tuple[str, ...] = ()
    """Other changes: models that join or leave it."""
    stateful: bool = False
    command: str = ""
    """The command that continues a query which is `stored` or `mixed`."""
    accept: tuple[str, ...] = ()
    """What it accepts: `stored:totals`."""
    replay: QueryRebuild | None = None


class ContractChange(Struct, frozen=True, kw_only=True):
    """A topic or table from its readers' point of view."""

    kind: StoredAs
    name: str
    model: NodeId
    status: Literal["added", "removed", "changed"]
    breaking: tuple[str, ...] = ()
    """What breaks existing readers."""
    notes: tuple[str, ...] = ()
    """Changes that don't break readers."""
    todo: tuple[str, ...] = ()
    """Manual steps for the existing topic or table."""


class CostRow(Struct, frozen=True):
    name: str
    before: float
    after: float


class RuleChange(Struct, frozen=True, kw_only=True):
    """Something that the optimizer did in one version and not in the other."""

    rule: str
    status: Literal["started", "stopped"]
    what: str
    models: tuple[NodeId, ...] = ()
    edited_line: EditedLine | None = field(default=None, name="place")
    """The edited line that caused it."""


class BaseVersion(Struct, frozen=True):
    """The version to compare with."""

    name: str
    commit: str = ""


class Review(Struct, frozen=True, kw_only=True):
    schema_version: int = SCHEMA_VERSION
    project: str
    target: str
    against: BaseVersion
    levels: tuple[Level, ...] = ()
    """The levels that the change reaches, worst first."""
    nodes: tuple[NodeChange, ...] = ()
    queries: tuple[QueryChange, ...] = ()
    """The queries that changed."""
    same_queries: int = 0
    contracts: tuple[ContractChange, ...] = ()
    costs: tuple[CostRow, ...] = ()
    """Numbers that differ."""
    rules: tuple[RuleChange, ...] = ()
    diagram: str = ""
    """A Mermaid flowchart of changed nodes and their neighbours."""
    limits: tuple[str, ...] = ()
    """What is unknown, and why."""
