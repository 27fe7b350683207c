"""The queries that a build would start, so that no test passes what Spark refuses there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError
from millstream.manifest import Compiled
from millstream.physical.values import Query
from millstream.plan.nodes import Plan
from millstream.project.values import Project
from millstream.testing.units.plan import UnitTestPlan
from millstream.topology import Topology, compiled_topology, physical_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StreamingChecks:
    """Checks each query once."""

    def __init__(
        self, project: Project, compiled: Compiled, spark: Callable[[], SparkSession], log: Callable[[], str]
    ) -> None:
        self._project = project
        self._compiled = compiled
        self._spark = spark
        self._log = log
        self._lock = threading.Lock()
        self._answers: dict[str, MillstreamError | None] = {}

    def check(self, model: str, plan: UnitTestPlan) -> None:
        """Raise why Spark would not start a query that a model is in; of an unread view, a test's own."""
        with self._lock:
            queries = [query for query in self._queries if model in query.models]
            for query in queries:
                if query.name not in self._answers:
                    self._answers[query.name] = self._answer(self._topology.plan, query)
                if (error := self._answers[query.name]) is not None:
                    raise error
        if not queries and (error := self._answer(Plan((plan.output,)), plan.query)) is not None:
            raise error

    def _answer(self, plan: Plan, query: Query) -> MillstreamError | None:
        from millstream.runner.streamable import check_streaming

        try:
            check_streaming(self._spark(), self._project, self._topology.catalog, plan, query, self._log())
        except MillstreamError as error:
            return error
        return None

    @cached_property
    def _topology(self) -> Topology:
        return compiled_topology(self._compiled)

    @cached_property
    def _queries(self) -> tuple[Query, ...]:
        return physical_of(self._topology).queries
