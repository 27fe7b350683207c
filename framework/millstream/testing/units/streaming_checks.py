"""Checks that Spark would start a model's queries in a build, so that tests don't pass otherwise."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from millstream.compile.manifest import Compiled
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Plan
from millstream.project.values import Project
from millstream.queries.topology import Topology, compiled_topology, models_of_queries, physical_of
from millstream.queries.values import Query
from millstream.testing.units.plan import UnitTestPlan

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
        self._queries: dict[str, Query] = {}
        """Those of models that were tested: writing the SQL of a large project takes seconds."""
        self._errors: dict[str, MillstreamError | None] = {}

    def check(self, model: NodeId, plan: UnitTestPlan) -> None:
        """Raise if Spark refuses a query that computes the model; for an unread view, the test's query."""
        with self._lock:
            queries = [query for query in self._queries_of(model) if model in query.models]
            for query in queries:
                if query.name not in self._errors:
                    self._errors[query.name] = self._error(self._topology.plan, query)
                if (error := self._errors[query.name]) is not None:
                    raise error
        if not queries and (error := self._error(Plan((plan.output,)), plan.query)) is not None:
            raise error

    def _queries_of(self, model: NodeId) -> list[Query]:
        """Return the queries that may compute a model."""
        names = [name for name, models in self._models.items() if model in models]
        if unwritten := [name for name in names if name not in self._queries]:
            physical = physical_of(self._topology, only=frozenset(unwritten))
            self._queries |= {query.name: query for query in physical.queries}
        return [self._queries[name] for name in names]

    def _error(self, plan: Plan, query: Query) -> MillstreamError | None:
        from millstream.runner.samples.streaming_checks import check_streaming

        try:
            check_streaming(self._spark(), self._project, self._topology.catalog, plan, query, self._log())
        except MillstreamError as error:
            return error
        return None

    @cached_property
    def _topology(self) -> Topology:
        return compiled_topology(self._compiled)

    @cached_property
    def _models(self) -> dict[str, frozenset[NodeId]]:
        return models_of_queries(self._topology)
