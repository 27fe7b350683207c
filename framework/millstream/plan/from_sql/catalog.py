"""What a project's relations are to the plan: values that name no file and no template."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression
from millstream.formats import Encoding, format_of
from millstream.materialization import Materialization, Sink, View
from millstream.plan.nodes import Check, Column, Emit
from millstream.sql.query import Query
from millstream.types import STRING, Type


class TopicSpec(Struct, frozen=True):
    """A source."""

    id: str
    name: str
    topic: str
    format: Encoding
    fields: tuple[Column, ...]
    """What values hold."""
    key: Column | None = None
    """The column that the record's key is read as, where it is none of the fields."""
    key_type: Type = STRING
    derived: tuple[tuple[str, Expression], ...] = ()
    """Columns that are calculated from fields."""
    order: tuple[str, ...] = ()
    """All columns, as users see them."""
    table: bool = False
    unique_by: tuple[str, ...] = ()
    """Of a reference topic: its key, by which a newer record replaces an older one."""
    watermark: tuple[str, str] | None = None
    on_bad_record: str = "fail"


class SeedSpec(Struct, frozen=True):
    id: str
    name: str
    columns: tuple[Column, ...]


class ModelSpec(Struct, frozen=True):
    id: str
    name: str
    query: Query
    columns: tuple[Column, ...]
    materialization: Materialization = View()
    emit: Emit = "on_change"
    dedupe: tuple[tuple[str, ...], str | None] | None = None
    watermark: tuple[str, str] | None = None
    options: dict[str, Any] = {}
    """What the plan hands on as it is: `state`, `group`, `optimize`, `on_bad_record`."""
    extras: tuple[tuple[str, Expression], ...] = ()
    """SQL of its options: headers, `delete_when`."""
    checks: tuple[Check, ...] = ()
    """Data tests that are asked of each row before it is stored."""
    promised: tuple[Check, ...] = ()
    """Those that are not asked, but hold for what production stores."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the columns that its records or its table are keyed by."""
        return self.materialization.keys

    @property
    def untested(self) -> ModelSpec:
        """The model with those tests alone that decide which rows are stored."""
        kept = tuple(check for check in self.checks if check.keeps_out)
        return replace(self, checks=kept, promised=self.checks)


class FunctionSpec(Struct, frozen=True):
    """A Python function."""

    name: str
    digest: str
    returns: Type
    cost: str = "medium"
    table: bool = False
    keyed: bool = False


class Hints(Struct, frozen=True):
    """What YAML says that nobody can see in SQL; none of it changes a result."""

    keeps: dict[str, float] = {}
    """By id of a relation: the share of rows that its filter keeps."""
    rows_per_second: dict[str, float] = {}
    distinct: dict[str, dict[str, int]] = {}
    """About how many values a column of a relation has."""


class Catalog(Struct, frozen=True):
    topics: dict[str, TopicSpec]
    seeds: dict[str, SeedSpec]
    models: dict[str, ModelSpec]
    """In the order of the graph."""
    functions: dict[str, FunctionSpec] = {}
    hints: Hints = Hints()
    target: dict[str, Any] = {}
    """The target's settings that are about the plan: optimization, grouping, timezone and the like."""
    project: str = ""
    """The project's name."""

    def can_rest(self, relation: str) -> bool:
        """Tell whether a relation can be read as its newest rows, instead of row by row."""
        topic, model = self.topics.get(relation), self.models.get(relation)
        return (
            relation in self.seeds
            or bool(topic and topic.table)
            or bool(model and model.materialization.at_rest)
        )

    @property
    def jars(self) -> tuple[str, ...]:
        """Return the features of the catalog of jars that the formats of its records need."""
        formats = [topic.format for topic in self.topics.values()]
        stored = (model.materialization for model in self.models.values())
        formats += [each.format for each in stored if isinstance(each, Sink)]
        return tuple(dict.fromkeys(jar for each in dict.fromkeys(formats) for jar in format_of(each).jars))

    @property
    def keyed(self) -> frozenset[str]:
        """Return the functions that keep state by key."""
        return frozenset(name for name, function in self.functions.items() if function.keyed)


class PlanProblem(Struct, frozen=True):
    """A mistake at `[start:stop]` of a model's compiled SQL, or of an option of its configuration."""

    model: str
    code: str
    message: str
    remedy: str
    start: int = 0
    stop: int = 0
    option: str = ""
    warning: bool = False
