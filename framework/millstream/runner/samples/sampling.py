"""Computes models over a sample, or over no rows at all; nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession

from millstream.compile.graph import build_graph
from millstream.compile.manifest import Compiled
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project
from millstream.queries.topology import read_catalog, with_ancestors
from millstream.runner.samples.compute import SampleRequest, compute_over, model_frame
from millstream.runner.samples.empty import EmptyInputs
from millstream.runner.samples.inputs import Inputs
from millstream.runner.samples.sampled import SampledInputs, TopicSample
from millstream.stores.tables.values import Answer


class Sampling:
    """A version of a project over a sample; versions that share the sample can be compared."""

    def __init__(self, project: Project, compiled: Compiled, sample: TopicSample, log: str) -> None:
        self.project = project
        self._compiled = compiled
        self._sample = sample
        self._log = log

    def of_version(self, project: Project, compiled: Compiled) -> Sampling:
        """Return another version of the project over the same sample."""
        return Sampling(project, compiled, self._sample, self._log)

    def rows(self, spark: SparkSession, model: NodeId, limit: int | None) -> Answer:
        request = self._request(model, limit)
        return compute_over(request, self._inputs_of(request.catalog), spark)

    def frame(self, session: SparkSession, model: NodeId) -> DataFrame:
        request = self._request(model, None)
        return model_frame(request, self._inputs_of(request.catalog), session)

    @property
    def inputs(self) -> Inputs:
        return self._inputs_of(self.catalog)

    @cached_property
    def catalog(self) -> Catalog:
        return read_catalog(self._compiled)

    @cached_property
    def _ancestors(self) -> Callable[[NodeId], frozenset[NodeId]]:
        graph = build_graph(self._compiled.manifest.nodes)
        return lambda model: frozenset(graph.ancestors(model) | {model})

    def _request(self, model: NodeId, limit: int | None) -> SampleRequest:
        catalog = with_ancestors(self.catalog, self._ancestors(model))
        return SampleRequest(self.project, catalog, model, limit, self._sample.most, self._log)

    def _inputs_of(self, catalog: Catalog) -> Inputs:
        if self._sample.most == 0:
            return EmptyInputs(self.project, catalog)
        return SampledInputs(self.project, catalog, self._sample, self._log)
