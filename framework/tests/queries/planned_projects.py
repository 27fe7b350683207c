"""Small projects as plans, their outputs with all that queries look at."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Node, Output, Plan
from millstream.queries.emit.steps import SqlView
from millstream.queries.lock import Lock
from millstream.queries.physical_plan import PhysicalPlan, physical_plan
from millstream.queries.values import PerBatch, PhysicalSettings, Query


def of(node: Node, model: str) -> Node:
    """Say in which model's SQL a node stands."""
    return replace(node, models=(NodeId("model", model),))


def planned(*outputs: Output, lock: Lock | None = None, **settings: object) -> PhysicalPlan:
    return physical_plan(Plan(outputs), PhysicalSettings(shuffle_partitions=2, **settings), lock)


def text(physical: PhysicalPlan) -> str:
    """Return all queries as one text."""
    return "\n\n".join(map(query_text, physical.queries))


def query_text(query: Query) -> str:
    models = ", ".join(model.removeprefix("model.") for model in query.models)
    parts = [f"# {query.name} ({query.kind}, {query.output_mode}): {models}"]
    parts += [f"# {source.view}: {', '.join(c.name for c in source.columns)}" for source in query.sources]
    parts += [f"# view {s.name}\n{s.sql}" if isinstance(s, SqlView) else str(s) for s in query.steps]
    parts.append(query.sql)
    if isinstance(query.deliver, PerBatch):
        for delivery in query.deliver.deliveries:
            parts.append(f"# of {query.deliver.view}: {type(delivery.target).__name__}\n{delivery.sql}")
    return "\n".join(parts)
