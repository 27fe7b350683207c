"""The catalog: a project's relations as values for the plan, independent of files and templates."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from millstream.core.cached_property import once
from millstream.core.errors import Severity, UnlocatedDiagnostic
from millstream.core.expressions import Expression, Read
from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.types import STRING, TIMESTAMP, Type
from millstream.formats.registry import KEY, Encoding, format_of
from millstream.outputs.kinds import VALID_FROM, VALID_TO, View, dead_letter_topic_of
from millstream.outputs.registry import Materialization
from millstream.plan.nodes import Column, Emit, LoggedRows, Metering, RowCheck
from millstream.project.names import Environment, environment_name
from millstream.project.options import Priority
from millstream.sql.query import Scan, SqlQuery
from millstream.stores.registry import DEFAULT

RELAYS = "_millstream."
"""The prefix of relay topics."""
DEFAULT_ISOLATION = "read_committed"
"""The isolation level at which topics are read."""


VERSION_COLUMNS = (Column(VALID_FROM, TIMESTAMP), Column(VALID_TO, TIMESTAMP))
"""The last columns of a table that keeps versions."""


class TopicSpec(Struct, frozen=True):
    """A source."""

    id: NodeId
    name: str
    first_topic: str = field(name="topic")
    format: Encoding
    fields: tuple[Column, ...]
    """The fields of values."""
    key: Column | None = None
    """The column of the record's key, if it is not one of the fields."""
    key_type: Type = STRING
    key_format: Encoding = KEY
    derived: tuple[tuple[str, Expression], ...] = ()
    """Columns that are computed from fields."""
    order: tuple[str, ...] = ()
    """All columns, as users see them."""
    table: bool = False
    unique_by: tuple[str, ...] = ()
    """For a reference topic, the key by which a newer record replaces an older one."""
    versions: str = ""
    """For a reference topic: how long versions are kept after their end, or `all`; empty: no versions."""
    watermark: tuple[str, str] | None = None
    on_bad_record: str = "fail"
    deduplicate: bool = False
    """Records whose headers have the position of an earlier one are dropped."""
    history: str = ""
    """Where older records are, as JSON."""
    dead_letters: str = ""
    """The topic of dead letters, if an environment names it otherwise."""

    other_topics: tuple[str, ...] = ()
    """The topics besides the first one, of a source that reads several."""
    pattern: str = ""
    """A regular expression for the names of its topics, if it is not given by these."""
    matching: tuple[str, ...] = ()
    """The topics that match the pattern; empty until the cluster was asked."""

    @property
    def key_columns(self) -> tuple[str, ...]:
        """For a reference topic, the columns that the fields of the record's key are, if it has several."""
        return self.unique_by if len(self.unique_by) > 1 else ()

    @property
    def topics(self) -> tuple[str, ...]:
        return self.matching or (self.first_topic, *self.other_topics)

    @property
    def several(self) -> bool:
        """Whether it may read more than one topic."""
        return bool(self.pattern or self.other_topics)

    @property
    def dead_letter_topic(self) -> str:
        return self.dead_letters or dead_letter_topic_of(self.name, self.topics, self.pattern)


class RowSpec(Struct, frozen=True):
    """A source whose rows have their columns."""

    id: NodeId
    name: str
    kind: str
    settings: str
    """What its kind reads it by, as JSON."""
    columns: tuple[Column, ...]
    metadata: tuple[Column, ...] = ()
    derived: tuple[tuple[str, Expression], ...] = ()
    """Columns that are computed from others."""
    watermark: tuple[str, str] | None = None
    unique_by: tuple[str, ...] = ()
    """The key of rows that change; none if they only come."""
    removes_read: bool = False
    """What was read is removed from it."""
    jars: tuple[str, ...] = ()
    """The features of the catalog of jars that Spark needs to read it."""
    dead_letters: str = ""
    """The topic of what can't be decoded; empty if it is not sent."""


class SeedSpec(Struct, frozen=True):
    id: NodeId
    name: str
    columns: tuple[Column, ...]
    digest: str = ""
    """Covers its rows."""


class DedupeSpec(NamedTuple):
    keys: tuple[str, ...]
    within: str | None = None
    exact: bool = False


class ModelSpec(Struct, frozen=True, dict=True):
    id: NodeId
    name: str
    query: SqlQuery
    columns: tuple[Column, ...]
    materialization: Materialization = View()
    emit: Emit = "on_change"
    dedupe: DedupeSpec | None = None
    watermark: tuple[str, str] | None = None
    options: dict[str, Any] = {}
    """Options that the plan passes on: `state`, `group`, `optimize`, `on_bad_record`."""
    latency: str | None = None
    """The maximum time until a run stores the results of a record."""
    priority: Priority = "normal"
    """Of its batches in a run."""
    every: str | None = None
    """The least time between two full computations of its table in a run."""
    extras: tuple[tuple[str, Expression], ...] = ()
    """SQL of its options: headers, `delete_when`."""
    checks: tuple[RowCheck, ...] = ()
    """Row checks."""
    metrics: tuple[Metering, ...] = ()
    log: LoggedRows | None = None
    promised: tuple[RowCheck, ...] = ()
    """Checks that are not applied, but hold for the rows that production stores."""

    @once
    def reads(self) -> tuple[NodeId, ...]:
        """The relations that its SQL reads, at any depth."""
        return tuple(_relations(self.query))

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns of its records or its table."""
        return self.materialization.keys

    @property
    def given_keys(self) -> tuple[str, ...]:
        """The key among the columns of its SQL."""
        return self.materialization.given_keys

    @property
    def given_columns(self) -> tuple[Column, ...]:
        """The columns of its SQL."""
        return self.columns[: -len(VERSION_COLUMNS)] if self.materialization.versions else self.columns

    @property
    def untested(self) -> ModelSpec:
        """The model with only the tests that decide which rows are stored."""
        deciding = tuple(check for check in self.checks if check.keeps_out)
        return replace(self, checks=deciding, promised=self.checks, metrics=(), log=None)


def _relations(value: object) -> dict[NodeId, None]:
    relations: dict[NodeId, None] = {}
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Expression):
            relations.update(dict.fromkeys(part.reads))
        elif isinstance(part, Scan | Read):
            relations[part.relation] = None
        elif isinstance(part, Struct):
            waiting += [getattr(part, name) for name in reversed(part.__struct_fields__)]
        elif isinstance(part, tuple):
            waiting += reversed(part)
        elif isinstance(part, dict):
            waiting += reversed(part.values())
    return relations


class FunctionSpec(Struct, frozen=True):
    name: str
    digest: str
    returns: Type
    cost: str = "medium"
    table: bool = False
    keyed: bool = False
    libraries: dict[str, str] = {}
    """What it can import from outside of the project, with versions."""
    runs: str = "auto"
    """What YAML demands: auto, native or python."""
    logs: bool = False
    """It may log something: it uses `logging`."""
    in_python: bool = False
    """It runs in Python, and YAML does not say that its cost is low."""


class ModelHints(Struct, frozen=True):
    """Figures declared in YAML; none of them changes a result."""

    keeps: dict[NodeId, float] = {}
    """By id of a relation: the share of rows that its filter keeps."""
    rows_per_second: dict[NodeId, float] = {}
    distinct: dict[NodeId, dict[str, int]] = {}
    """The approximate number of distinct values, by relation and column."""


class Catalog(Struct, frozen=True):
    topics: dict[NodeId, TopicSpec]
    seeds: dict[NodeId, SeedSpec]
    models: dict[NodeId, ModelSpec]
    """In topological order."""
    functions: dict[str, FunctionSpec] = {}
    hints: ModelHints = ModelHints()
    target: dict[str, Any] = {}
    """The target's settings for the plan: optimization, grouping, timezone and the like."""
    project: str = ""
    """The project's name."""
    environment: Environment | None = None
    """Where the project is planned for; its models have the names of what they store there."""
    row_sources: dict[NodeId, RowSpec] = {}
    """The sources that are no topics."""

    def defers(self, relation: NodeId) -> bool:
        """Return whether an environment reads what a relation stores from production."""
        return self.environment is not None and self.environment.defers(relation)

    @property
    def has_patterns(self) -> bool:
        """Whether only the cluster knows which topics sources read."""
        return any(topic.pattern for topic in self.topics.values())

    @property
    def references(self) -> dict[NodeId, TopicSpec | RowSpec]:
        """Return the sources that can be stored as tables of their newest rows."""
        return {id_: source for id_, source in self.sources.items() if not self.defers(id_)}

    @property
    def sources(self) -> dict[NodeId, TopicSpec | RowSpec]:
        return {**self.topics, **self.row_sources}

    def own_store(self, relation: NodeId) -> str | None:
        """Return the store that a model names for its table."""
        spec = self.models.get(relation)
        return spec.materialization.store if spec is not None else None

    def store_of(self, relation: NodeId) -> str:
        """Return the name of the store that keeps a table; reference sources are kept in the default one."""
        spec = self.models.get(relation)
        if (store := self.own_store(relation)) is not None:
            return store
        if spec is None and relation in self.sources:
            return DEFAULT
        locations: dict[str, str] = self.target.get("table_locations") or {}
        return locations.get("", DEFAULT).partition(" ")[0]

    def relay_topic(self, view: str) -> str:
        """Return the topic between a view and readers that can't share its query."""
        topic = f"{RELAYS}{self.project}.{view}"
        return topic if self.defers(NodeId("model", view)) else environment_name(self.environment, topic)

    def can_rest(self, relation: NodeId) -> bool:
        """Return whether a relation can be read at rest, instead of row by row."""
        topic, spec = self.topics.get(relation), self.models.get(relation)
        rows = self.row_sources.get(relation)
        return (
            relation in self.seeds
            or bool(topic and topic.table)
            or bool(rows and rows.unique_by)
            or bool(spec and spec.materialization.at_rest)
        )

    def is_appended(self, relation: NodeId) -> bool:
        """Return whether a relation is a table to which rows are only appended."""
        spec = self.models.get(relation)
        return spec is not None and spec.materialization.appends

    @property
    def jars(self) -> tuple[str, ...]:
        """Return the features of the catalog of jars that its sources and the formats of its records need."""
        formats = [
            encoding for topic in self.topics.values() for encoding in (topic.format, topic.key_format)
        ]
        stored = (spec.materialization for spec in self.models.values())
        formats += [encoding for output in stored for _, encoding in output.encodings]
        of_formats = [jar for encoding in dict.fromkeys(formats) for jar in format_of(encoding).jars]
        of_sources = [jar for source in self.row_sources.values() for jar in source.jars]
        return tuple(dict.fromkeys((*of_formats, *of_sources)))

    @property
    def keyed(self) -> frozenset[str]:
        """Return the functions that keep state by key."""
        return frozenset(name for name, function in self.functions.items() if function.keyed)


class PlanDiagnostic(UnlocatedDiagnostic, frozen=True):
    """An error at `[start:stop]` of a model's compiled SQL, or of one of its options."""

    model: NodeId = NO_NODE
    start: int = 0
    stop: int = 0
    option: str = ""
    severity: Severity = "error"
    others: tuple[NodeId, ...] = ()
    """The relations whose definitions are the cause, too."""
