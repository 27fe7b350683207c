"""A sample of what models read: a few of the newest records, and what nothing has stored yet.

Both versions of a model that are compared read the same sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.engine.queries.seeds import view_seed
from millstream.engine.queries.tables import Tables, not_built
from millstream.kafka.clients import Admin
from millstream.kafka.cluster import is_embedded
from millstream.kafka.generators import START, generate_records, generators_of
from millstream.kafka.offsets import OffsetBounds, PartitionKey, topic_bounds
from millstream.kafka.producing import FILL
from millstream.kafka.topic_patterns import match_catalog
from millstream.local.broker import broker_status
from millstream.local.broker.log_bounds import stopped_logs
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.folders import broker_folder, target_folder
from millstream.project.values import Project
from millstream.queries.physical_plan import physical_plan
from millstream.queries.references import reference_outputs
from millstream.queries.topology import physical_settings, written_plan
from millstream.queries.values import ChangesRead, Query, SourceRead, StaticRead, StreamRead, TopicRead
from millstream.runner.samples.compute import SampleRequest, model_frame
from millstream.runner.samples.inputs import first_shown, missing_topic, read_records
from millstream.runner.samples.trial import (
    RECORDS,
    ReferenceTopic,
    Row,
    rows_to_frame,
    table_to_frame,
    view_at_rest,
)
from millstream.sources.spark import spark_source

Ranges = dict[str, dict[int, tuple[int, int]]]
"""By topic and partition: the first offset, and the one after the last."""


class TopicSample:
    """The sample of each topic. It is chosen when the topic is first read, and stays the same."""

    def __init__(self, project: Project, most: int, connect: Callable[[], Admin]) -> None:
        self.most = most
        self.connect = connect
        self._project = project
        self._stored: dict[NodeId, Ranges | None] = {}
        self._generated: dict[NodeId, list[Row]] = {}

    def view(self, session: SparkSession, read: TopicRead, project: Project) -> None:
        """Create the view of a topic's records; those of an empty local topic are what would fill it."""
        if read.relation not in self._stored:
            self._stored[read.relation] = self._newest(read)
        ranges = self._stored[read.relation]
        if ranges is None:
            most = FILL if read.reads_all else self.most
            rows_to_frame(session, self.generated(read.relation, most), RECORDS).createOrReplaceTempView(
                read.view
            )
        else:
            read_records(session, read, project, self.connect(), ranges)

    def generated(self, relation: NodeId, most: int) -> list[Row]:
        """Return the first records that the generator of a source makes; none if it has no generator."""
        if len(self._generated.get(relation, ())) < most:
            generator = generators_of(self._project).get(relation.name)
            records = islice(generate_records(self._project, *generator), most) if generator else ()
            topic = generator[1].topics[0] if generator else ""
            self._generated[relation] = [_record(topic, n, *record) for n, record in enumerate(records)]
        return self._generated[relation][:most]

    def _newest(self, read: TopicRead) -> Ranges | None:
        """Return the newest records of a topic; None if a local one has none."""
        embedded = is_embedded(self._project.target)
        if embedded and self._holds_nothing(read.topics):
            return None
        bounds = topic_bounds(self.connect(), read.topics)
        if embedded and not any(bound.end > bound.first for bound in bounds.values()):
            return None
        if missing := {*read.topics} - {topic for topic, _ in bounds}:
            raise MillstreamError(missing_topic(min(missing)))
        return newest_ranges(read, bounds, None if read.reads_all else self.most)

    def _holds_nothing(self, topics: tuple[str, ...]) -> bool:
        """Whether a stopped local broker has no record of topics: then it need not start."""
        root = Path(self._project.root)
        if broker_status(root).state != "stopped" or (logs := stopped_logs(root)) is None:
            return False
        return not any(log.end > log.first for topic in topics for log in logs.topics.get(topic, {}).values())


def newest_ranges(read: TopicRead, bounds: Mapping[PartitionKey, OffsetBounds], most: int | None) -> Ranges:
    """Return the newest records of a topic, at most `most` over all partitions; None for all."""
    ranges: Ranges = {}
    left = most if most is not None else sum(bound.end for bound in bounds.values())
    # Partitions with few records first: what they leave is for the others.
    by_size = sorted(bounds.items(), key=lambda item: item[1].end - first_shown(read, item[1], item[1].end))
    for index, ((topic, number), bound) in enumerate(by_size):
        share = left // (len(by_size) - index) if most is not None else bound.end
        first = first_shown(read, bound, share)
        left -= bound.end - first
        ranges.setdefault(topic, {})[number] = (first, bound.end)
    return ranges


def _record(topic: str, offset: int, key: bytes | None, value: bytes | None, timestamp: int | None) -> Row:
    start = int(START.timestamp() * 1000)
    time = START + timedelta(milliseconds=(start + offset if timestamp is None else timestamp) - start)
    return {
        "key": key,
        "value": value,
        "topic": topic,
        "partition": 0,
        "offset": offset,
        "timestamp": time,
        "headers": [],
    }


def nothing_is_stored(project: Project, catalog: Catalog) -> bool:
    """Whether nothing can be read but generators and seeds: then Spark needs no jars of stores or Kafka."""
    target, root = project.target, Path(project.root)
    others = {"tables", "checkpoints", "iceberg", "postgres", "mysql"} & target.settings.keys()
    is_local = is_embedded(target) and not (others or catalog.row_sources)
    return is_local and not (
        broker_folder(root).exists() or (target_folder(root, target) / "tables").exists()
    )


class SampledInputs:
    """Of topics and other sources the sample; what is looked up as it is stored, or as the sample makes it.

    A table or a reference topic that has not been built is computed, so that nothing has to be built first.
    """

    def __init__(self, project: Project, catalog: Catalog, sample: TopicSample, log: str) -> None:
        self._project = project
        self._catalog = match_catalog(catalog, sample.connect()) if catalog.has_patterns else catalog
        self._sample = sample
        self._untouched = nothing_is_stored(project, catalog)
        self._log = log

    def stream(self, session: SparkSession, read: StreamRead, /) -> None:
        match read:
            case TopicRead():
                self._sample.view(session, read, self._project)
                return
            case SourceRead():
                rows = spark_source(session, self._project, read.relation).rows()
            case ChangesRead():
                # The changes of a table so far are its rows.
                self.at_rest(session, StaticRead(read.view, read.relation))
                rows = session.table(read.view)
        rows.limit(self._sample.most).createOrReplaceTempView(read.view)

    def at_rest(self, session: SparkSession, read: StaticRead, /) -> None:
        kind, name = read.relation.kind, read.relation.name
        tables = Tables(session, self._project, self._catalog)
        if kind == "seed":
            view_seed(session, read.view, self._project, self._project.seeds[name])
        elif not self._untouched and tables.exists(read.relation):
            tables.view(session, read)
        elif read.relation in self._references:
            records = tuple(self._sample.generated(read.relation, FILL))
            query = self._references[read.relation]
            view_at_rest(session, self._project, ReferenceTopic(read.view, records, query))
        elif read.relation in self._catalog.models:
            self._computed(session, read)
        else:
            raise MillstreamError(not_built(read.relation))

    def _computed(self, session: SparkSession, read: StaticRead) -> None:
        """Create the view of a table that has not been built, from its SQL over the sample."""
        request = SampleRequest(self._project, self._catalog, read.relation, None, 0, self._log)
        rows = model_frame(request, self, session.newSession())
        table_to_frame(session, rows.toArrow(), rows.schema).createOrReplaceTempView(read.view)

    @cached_property
    def _references(self) -> Mapping[NodeId, Query]:
        """Return the query that stores the newest rows of each reference topic."""
        plan = written_plan(self._catalog)
        outputs = reference_outputs(plan, self._catalog.topics)
        queries = physical_plan(plan, physical_settings(self._catalog), None, outputs, views=True).queries
        return {output.model: q for output in outputs for q in queries if output.model in q.stored}
