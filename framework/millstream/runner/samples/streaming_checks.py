"""Checks what Spark's streaming refuses, without running anything.

Spark runs SQL in a batch that it refuses in a stream. So the same SQL is analysed over empty streams, and
passes the checks of a query that starts (UnsupportedOperationChecker, in the query's output mode).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from millstream.core.node_id import NodeId
from millstream.engine.queries.failures import reporting_spark_errors
from millstream.engine.spark.settings import state_settings
from millstream.engine.spark.streaming_check import check_streaming_rows
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.nodes import Column, Plan
from millstream.project.values import Project
from millstream.queries.references import reference_outputs
from millstream.queries.values import ChangesRead, Query, SourceRead, StreamRead, TopicRead
from millstream.runner.samples import trial
from millstream.runner.samples.trial import RECORDS, LookupRows, OwnSeed, Trial, ViewFeed, columns_to_ddl

_DELETED = "_deleted boolean"


def check_streaming(
    spark: SparkSession, project: Project, catalog: Catalog, plan: Plan, query: Query, log: str
) -> None:
    """Raise the reason if Spark would not start a query; queries without streams are not checked."""
    if not query.sources or query.maintaining is not None:
        return  # the SQL of a maintained table runs over rows at rest
    references = {output.model: output.columns for output in reference_outputs(plan, catalog.sources)}
    streaming_trial = Trial(
        project,
        query,
        tuple(empty_feed(source, catalog) for source in query.sources),
        tuple(empty_at_rest(read.view, read.relation, catalog, references) for read in query.reads),
        settings=state_settings(query, catalog),
    )
    with reporting_spark_errors(query.title, log):
        rows = trial.streamed_rows(spark.newSession(), streaming_trial)
        check_streaming_rows(rows, append=query.output_mode == "append")


def empty_feed(source: StreamRead, catalog: Catalog) -> ViewFeed:
    """Return the view of what a query reads as it comes, without rows."""
    match source:
        case TopicRead():
            return ViewFeed(source.view, RECORDS, ())
        case SourceRead():
            return ViewFeed(source.view, columns_to_ddl(source.columns), ())
        case ChangesRead():
            changed = catalog.models.get(source.relation) or catalog.row_sources[source.relation]
            return ViewFeed(source.view, f"{columns_to_ddl(changed.columns)}, {_DELETED}", ())


def empty_at_rest(
    view: str, relation: NodeId, catalog: Catalog, references: Mapping[NodeId, Sequence[Column]]
) -> LookupRows | OwnSeed:
    """Return the view of rows at rest, without rows; seeds have theirs."""
    kind, name = relation.kind, relation.name
    if kind == "seed":
        return OwnSeed(view, name)
    columns = references[relation] if kind == "source" else catalog.models[relation].columns
    return LookupRows(view, columns_to_ddl(columns), ())
