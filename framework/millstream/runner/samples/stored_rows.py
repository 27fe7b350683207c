"""Reads the current rows of any relation of a project."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.engine.python import functions
from millstream.engine.queries.newest_rows import latest_rows
from millstream.engine.queries.seeds import view_seed
from millstream.engine.queries.start import make_view
from millstream.engine.queries.tables import Tables
from millstream.kafka.clients import Admin
from millstream.kafka.offsets import OffsetBounds, PartitionKey, topic_bounds
from millstream.kafka.topic_patterns import match_catalog
from millstream.outputs.kinds import VALID_FROM, VALID_TO
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.from_sql.topics import sink_node, topic_node
from millstream.plan.nodes import Node
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import Traits, traits_of
from millstream.project.values import Project
from millstream.queries.emit.steps import in_steps
from millstream.queries.emit.walk import EmitOptions
from millstream.queries.format_functions import decoding_calls
from millstream.queries.topology import with_ancestors
from millstream.queries.values import StaticRead, TopicRead
from millstream.queries.view_names import Views, source_reads
from millstream.runner.samples.compute import SampleRequest, model_frame
from millstream.runner.samples.inputs import StoredInputs, first_shown, read_records
from millstream.runner.samples.sampling import Sampling
from millstream.sources.spark import spark_source

_TRIES = 10
_PAUSE = 0.5
_ALL = 1 << 60
"""More records than a partition can have."""


class NotBuiltError(Exception):
    """A relation that was never built, and so has no rows."""


class StoredRows(Struct, frozen=True):
    project: Project
    catalog: Catalog
    traits: dict[NodeId, Traits]
    admin: Callable[[], Admin]
    above: Callable[[NodeId], frozenset[NodeId]]
    """Returns a relation and its ancestors."""
    log: str
    newest: int | None = None
    """At most this many of the newest records of each partition are read; None for all."""
    sampling: Sampling | None = None
    """Computes what is not read as it is stored."""

    def rows(self, session: SparkSession, relation: NodeId) -> DataFrame:
        """Return a relation's rows; for a topic with upserts, the newest of each key."""
        kind, name = relation.kind, relation.name
        if kind == "seed" or (kind == "model" and relation not in self.catalog.models):
            view_seed(session, "seed_rows", self.project, self.project.seeds[name])
            return session.table("seed_rows")
        if self.sampling is not None and kind == "model":
            return self.sampling.frame(session, relation)
        if relation in self.catalog.row_sources:
            return spark_source(session, self.project, relation).rows()
        if kind == "source":
            catalog = match_catalog(self.catalog, self.admin()) if self.catalog.has_patterns else self.catalog
            topic = catalog.topics[relation]
            return self._topic(session, topic_node(topic), topic.unique_by)
        spec = self.catalog.models[relation]
        if not spec.materialization.readable:
            raise NotBuiltError(name)
        if spec.materialization.keeps_rows:
            try:
                Tables(session, self.project, self.catalog).view(session, StaticRead("table_rows", relation))
            except PySparkException:
                raise NotBuiltError(name) from None
            rows = session.table("table_rows")
            if spec.materialization.versions:
                return rows.where(f"not {VALID_FROM} <=> {VALID_TO} or {VALID_FROM} is null")
            return rows
        if spec.materialization.inlined:
            catalog = with_ancestors(match_catalog(self.catalog, self.admin()), self.above(relation))
            question = SampleRequest(self.project, catalog, relation, None, _ALL, self.log)
            inputs = StoredInputs(self.project, catalog, _ALL, self.admin())
            return model_frame(question, inputs, session)
        traits = self.traits[relation]
        return self._topic(session, sink_node(spec, traits), traits.keys)

    def _topic(self, session: SparkSession, node: Node, keys: tuple[str, ...]) -> DataFrame:
        changing = traits_of(node).mode == "upsert"
        views = Views()
        emission = in_steps(
            (node,), views.leaf, deletes=changing, reads=views.of, how=EmitOptions(locate_calls=True)
        )
        functions.register_decoders(session, self.project, decoding_calls(in_order((node,)), {}))
        for source in source_reads(in_order((node,)), views):
            assert isinstance(source, TopicRead), "tables are read at rest"
            if self.sampling is None:
                self._records(session, source)
            else:
                self.sampling.inputs.stream(session, source)
        for step in emission.steps:
            make_view(session, step, self.project, "append")
        rows = session.sql(emission.emitted.statement())
        return latest_rows(rows, keys, None).where("not _deleted").drop("_deleted") if changing else rows

    def _bounds(self, topics: Sequence[str]) -> dict[PartitionKey, OffsetBounds]:
        """Return the bounds of topics; a broker that has just started may not know them yet."""
        for _ in range(_TRIES):
            with suppress(MillstreamError):
                return topic_bounds(self.admin(), topics)
            time.sleep(_PAUSE)
        return topic_bounds(self.admin(), topics)

    def _records(self, session: SparkSession, source: TopicRead) -> None:
        ranges: dict[str, dict[int, tuple[int, int]]] = {}
        newest = _ALL if self.newest is None else self.newest
        for (topic, number), bounds in self._bounds(source.topics).items():
            ranges.setdefault(topic, {})[number] = (first_shown(source, bounds, newest), bounds.end)
        if missing := [topic for topic in source.topics if topic not in ranges]:
            raise NotBuiltError(missing[0])
        read_records(session, source, self.project, self.admin(), ranges)
