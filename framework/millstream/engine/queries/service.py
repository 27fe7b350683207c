"""What the models of a query expect of it while it runs: when its results are there, and a priority."""

from __future__ import annotations

from msgspec import Struct

from millstream.plan.durations import duration_millis
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.options import PRIORITIES
from millstream.project.values import Target
from millstream.queries.values import Query


class Service(Struct, frozen=True):
    latency: float | None
    """The seconds within which results shall be stored."""
    priority: int
    every: str | None = None
    """The trigger of its own, if the run has an interval or none."""


def service_of(query: Query, catalog: Catalog, target: Target) -> Service:
    """Return the shortest latency and the highest priority of a query's stored models."""
    models = [catalog.models[id_] for id_ in query.stored if id_ in catalog.models]
    latencies = [model.latency or target.settings.get("latency") for model in models]
    return Service(
        min((duration_millis(latency) / 1000 for latency in latencies if latency), default=None),
        max((PRIORITIES.index(model.priority) for model in models), default=PRIORITIES.index("normal")),
        next((model.every for model in models if model.every), None),  # such a table has a query of its own
    )
