"""Runs data tests that need more than a row while a run continues; it checks single rows in each batch.

Tables and seeds are read as they are. Of topics, only freshness is tested, by their newest records: other
tests would read all that a topic holds each time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator

from msgspec import Struct
from pyspark.sql import SparkSession

from millstream.compile.data_tests import RowTest, data_test
from millstream.compile.manifest import Compiled, ManifestNode
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.values import DataTested
from millstream.engine.spark.session import lost_jvm
from millstream.project.values import Project
from millstream.queries.topology import read_catalog
from millstream.testing.data.result import NotBuilt, is_tolerated
from millstream.testing.data.run import DataTests
from millstream.testing.data.stored import StoredRelations
from millstream.testing.units.relations import UnitRelations

_NEWEST = 1000
"""Records of each partition among which the newest time of a topic is searched."""


class RepeatedTests(Struct, frozen=True):
    project: Project
    compiled: Compiled
    ids: frozenset[NodeId]
    log: str

    def run(self, spark: SparkSession) -> Iterator[DataTested]:
        """Run all tests once, in separate sessions."""
        nodes = [self.compiled.manifest.nodes[id_] for id_ in sorted(self.ids)]
        of_topics = [node for node in nodes if self._reads_topic(node)]
        for group, newest in (
            ([node for node in nodes if node not in of_topics], None),
            ([node for node in of_topics if node.test == "freshness"], _NEWEST),
        ):
            if group:
                yield from self._run(spark, group, newest)

    def _run(
        self, spark: SparkSession, nodes: Collection[ManifestNode], newest: int | None
    ) -> Iterator[DataTested]:
        relations = UnitRelations(read_catalog(self.compiled))
        all_nodes = self.compiled.manifest.nodes
        stored = StoredRelations(self.project, all_nodes, relations, lambda: spark, self.log, newest)
        tests = DataTests(self.compiled, stored)
        try:
            for node in nodes:
                severity = str(node.config.get("severity", "error"))
                try:
                    result = tests.run(node)
                except MillstreamError as error:
                    message = error.diagnostics[0].message
                    yield DataTested(
                        node.id, passed=False, message=message, severity=severity, kind=node.test
                    )
                    continue
                if not isinstance(result, NotBuilt):
                    passed = is_tolerated(node, result)
                    message = "" if passed else result.message or f"{result.failures:,} rows"
                    yield DataTested(node.id, passed, message, severity, node.test)
        finally:
            stored.close()

    def _reads_topic(self, node: ManifestNode) -> bool:
        catalog = read_catalog(self.compiled)
        models = [catalog.models[id_] for id_ in node.depends_on if id_ in catalog.models]
        sources = [id_ for id_ in node.depends_on if id_ in catalog.topics]
        return bool(sources) or any(not spec.materialization.at_rest for spec in models)


def repeated_tests(
    project: Project, compiled: Compiled, models: Collection[NodeId] | None, log: str
) -> RepeatedTests:
    """Return the tests of these models and their sources that a batch can't check."""
    ids = []
    for node in compiled.manifest.nodes.values():
        chosen = node.kind == "test" and (models is None or {*node.depends_on} <= {*models})
        if chosen and not isinstance(data_test(node, compiled.tests), RowTest):
            ids.append(node.id)
    return RepeatedTests(project, compiled, frozenset(ids), log)


def keep_testing(
    tests: RepeatedTests,
    every: float,
    spark: SparkSession,
    stopping: threading.Event,
    tell: Callable[[DataTested], None],
) -> None:
    """Run the tests again and again until the run stops."""
    from py4j.protocol import Py4JError

    while not stopping.wait(every):
        try:
            for result in tests.run(spark):
                if stopping.is_set():
                    return
                tell(result)
        except (Py4JError, OSError) as error:
            if not stopping.is_set() and lost_jvm(error) is None:
                raise
            return  # the run reports that the JVM ended
