"""A project's queries run on Spark over rows that a test gives, micro-batch by micro-batch, without Kafka."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec import Struct

from millstream.compile import compile_project
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.engine.spark.settings import state_settings
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.nodes import Column
from millstream.project.load import load_project
from millstream.project.values import Project
from millstream.queries.physical_plan import PhysicalPlan
from millstream.queries.topology import compiled_topology, physical_of
from millstream.queries.values import Query, TableOutput, TopicRead
from millstream.runner.samples.trial import (
    RECORDS,
    AtRest,
    LookupRows,
    OwnSeed,
    ReferenceTopic,
    Trial,
    ViewFeed,
    as_batch,
    as_stream,
)

Batches = Sequence[Sequence[Mapping[str, Any]]]
"""The values of a topic's records as JSON objects, micro-batch by micro-batch."""
_TIME = datetime(2024, 1, 1, tzinfo=timezone.utc)
_PROFILES = """
{name}:
  target: all
  outputs:
    all: {{}}
    plain: {{optimization: none}}
    apart: {{grouping: 'off'}}
    plain_apart: {{optimization: none, grouping: 'off'}}
"""


class Streamed(Struct, frozen=True):
    """A compiled project, and how its queries run."""

    project: Project
    catalog: Catalog
    physical: PhysicalPlan

    def query_of(self, model: str) -> Query:
        return next(q for q in self.physical.queries if f"model.{model}" in q.models)

    def trial(self, query: Query, topics: Mapping[str, Batches], tables: Mapping[str, Any]) -> Trial:
        count = max(map(len, topics.values()))
        feeds = []
        for source in query.sources:
            if isinstance(source, TopicRead):
                batches = topics.get(source.stream, ())
                feeds.append(ViewFeed(source.view, RECORDS, _records(source.stream, batches, count)))
            else:
                rows = tables.get(source.relation.name, ())
                changes = tuple({**row, "_deleted": False} for row in rows)
                columns = _ddl(self.catalog.models[source.relation].columns)
                feeds.append(
                    ViewFeed(source.view, f"{columns}, _deleted boolean", (changes, *((),) * (count - 1)))
                )
        at_rest = tuple(self._at_rest(r.view, r.relation, topics, tables) for r in query.reads)
        settings = state_settings(query, self.catalog)
        return Trial(self.project, query, tuple(feeds), at_rest, settings)

    def _at_rest(
        self, view: str, relation: NodeId, topics: Mapping[str, Batches], tables: Mapping[str, Any]
    ) -> AtRest:
        kind, name = relation.kind, relation.name
        if kind == "seed":
            return OwnSeed(view, name)
        if kind == "source":
            topic = self.catalog.topics[relation].first_topic
            records = [r for batch in _records(topic, topics.get(topic, ()), 1) for r in batch]
            query = next(
                q for q in self.physical.queries
                if any(isinstance(o, TableOutput) and o.model == relation for o in q.outputs)
            )  # fmt: skip
            return ReferenceTopic(view, tuple(records), query)
        return LookupRows(view, _ddl(self.catalog.models[relation].columns), tuple(tables.get(name, ())))

    def run(
        self,
        spark: Any,
        query: Query,
        topics: Mapping[str, Batches],
        tables: Mapping[str, Any] | None = None,
        *,
        quickly: bool = False,
    ) -> list[tuple[str, dict[str, Any]]]:
        """Run a query, as a stream if it reads one; return what it stores: topic or model, and the row.

        `quickly` runs a query without state as one batch.
        """
        run = as_stream if query.sources and not (quickly and query.kind == "stateless") else as_batch
        return decoded(run(spark, self.trial(query, topics, tables or {}), "spark.log"))


def streamed(root: Path, target: str = "all", name: str = "shop") -> Streamed:
    """Compile a project that has no mistakes."""
    project, errors = attempted(root, target, name)
    assert project is not None, [(p.code, p.message, p.location) for p in errors]
    return project


def attempted(
    root: Path, target: str = "all", name: str = "shop"
) -> tuple[Streamed | None, list[Diagnostic]]:
    """Compile a project, or say what is wrong with it."""
    (root / "profiles.yml").write_text(_PROFILES.format(name=name))
    compiled = compile_project(root, target=target, use_cache=False)
    wrong = [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"]
    if wrong:
        return None, wrong
    topology = compiled_topology(compiled)
    project = load_project(root, target, None, None)
    return Streamed(project, topology.catalog, physical_of(topology)), []


def _records(topic: str, batches: Batches, count: int) -> tuple[tuple[dict[str, Any], ...], ...]:
    offered, offset = [], 0
    for number in range(max(count, len(batches))):
        records = []
        for row in batches[number] if number < len(batches) else ():
            row_value = dict(row)
            key = row_value.pop("_key", None)
            records.append(
                {
                    "key": None if key is None else str(key).encode(), "value": json.dumps(row_value).encode(),
                    "topic": topic, "partition": 0, "offset": offset, "timestamp": _TIME, "headers": None,
                }
            )  # fmt: skip
            offset += 1
        offered.append(tuple(records))
    return tuple(offered)


def decoded(tried: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return what a trial stored: topic or model, and the row."""
    stored = []
    for output in tried.outputs:
        for row in output.rows:
            if output.kind == "records":
                value = row["value"] and json.loads(row["value"])
                stored.append((row["topic"], value))
            else:
                stored.append((output.output.removeprefix("model."), row))
    return stored


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(f"`{column.name}` {column.type}" for column in columns)
