"""A project as exporters see it: what a document for other tools can say, not how it is compiled."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from millstream.core.diagram import Diagram
from millstream.results.run_metrics import RunMetric


class ExportedInfluence(Struct, frozen=True):
    """A column of another node that a column, or every row, depends on."""

    node: str
    column: str
    kind: Literal["direct", "computed", "filter", "join", "group", "order"]


class ExportedColumn(Struct, frozen=True):
    name: str
    type: str
    """In SQL: `array<int>`, or `unknown`."""
    nullable: bool = True
    description: str = ""
    influences: tuple[ExportedInfluence, ...] = ()
    """The columns that its value comes from: `direct` or `computed`."""


class ExportedSchema(Struct, frozen=True):
    """How values or keys of a topic are encoded."""

    media_type: str
    """Empty for keys without a declared format."""
    json_schema: dict[str, Any] | None
    """What they are as JSON; None for a key that is not a single column."""
    file: str = ""
    """The schema's file in the project, if any."""
    subject: str = ""
    """Its subject in a schema registry, if any."""


class ExportedTopic(Struct, frozen=True):
    """The topic of a source or of a model."""

    name: str
    """If a source reads several topics as one, all names, separated by commas."""
    action: Literal["receive", "send"]
    """`receive`: the project reads it; `send`: it writes it."""
    value: ExportedSchema
    key: ExportedSchema
    schema_ids: bool = False
    """The id of a schema precedes each value."""
    partitions: int | None = None
    replication: int | None = None
    settings: dict[str, Any] = {}
    """Kafka's settings of the topic."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, or those of all topics that the source reads as one."""
        return tuple(self.name.split(", "))


class ExportedNode(Struct, frozen=True):
    id: str
    """`model.orders`, `source.shop.events`, `test.not_null_orders_id`, …"""
    kind: str
    """`model`, `source`, `seed`, `test`, `unit_test`, `exposure` or `metric`."""
    name: str
    description: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    columns: tuple[ExportedColumn, ...] = ()
    influences: tuple[ExportedInfluence, ...] = ()
    """The columns that decide which rows exist, and their order: filter, join, group, order."""
    depends_on: tuple[str, ...] = ()
    """The ids of the nodes that it reads."""
    sql: str = ""
    """The rendered SQL of a model or a data test."""
    test: str = ""
    """What a data test checks: `not_null`, `freshness`."""
    topic: ExportedTopic | None = None


class ExportedProject(Struct, frozen=True):
    name: str
    target: str
    version: str
    """The version of Millstream."""
    nodes: dict[str, ExportedNode]
    """By id."""
    lineage: Diagram
    """The nodes, without tests, and what reads what."""
    metrics: tuple[RunMetric, ...] = ()
    """Those that the project declares, as Prometheus sees them; `RUN_METRICS` has those of all runs."""
    max_lag: int | None = None
    max_staleness: float | None = None
    """In seconds; both are the thresholds in the target's `health:`."""

    @property
    def models(self) -> tuple[ExportedNode, ...]:
        return tuple(node for node in self.nodes.values() if node.kind == "model")
