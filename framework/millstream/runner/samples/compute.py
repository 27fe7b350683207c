"""Computes one model as a batch over what the topics hold now, without writing anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.engine.python import functions
from millstream.engine.queries import maintained
from millstream.engine.queries.failures import reporting_spark_errors
from millstream.engine.queries.start import make_view
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.registry import use_registry, used_registry
from millstream.engine.spark.session import running_spark
from millstream.kafka.clients import Admin
from millstream.local.jars import Progress
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.nodes import Maintained, Output, Plan, reads_of
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rule_selection import select_rules
from millstream.plan.traits import KnownTraits
from millstream.project.values import Project
from millstream.queries.emit.error_locations import nested_calls
from millstream.queries.emit.steps import in_steps
from millstream.queries.emit.walk import EmitOptions
from millstream.queries.format_functions import decoding_calls
from millstream.queries.maintaining import maintaining_functions
from millstream.queries.physical_plan import physical_plan
from millstream.queries.references import reference_outputs
from millstream.queries.topology import hints_of, physical_settings, written_plan
from millstream.queries.view_names import Views, source_reads, static_reads
from millstream.runner.samples.inputs import Inputs, StoredInputs
from millstream.runner.samples.streaming_checks import check_streaming
from millstream.sources.spark import spark_source
from millstream.stores.tables.values import Answer


class SampleRequest(Struct, frozen=True):
    project: Project
    catalog: Catalog
    """The catalog of the model and its ancestors."""
    model: NodeId
    limit: int | None
    last: int
    """The number of records to read from the end of each partition."""
    log: str
    """The path of Spark's log, for errors."""


def compute_rows(question: SampleRequest, admin: Admin, spark: SparkSession) -> Answer:
    """Return a model's rows over what is stored: the newest records of each partition."""
    inputs = StoredInputs(question.project, question.catalog, question.last, admin)
    return compute_over(question, inputs, spark)


def compute_over(question: SampleRequest, inputs: Inputs, spark: SparkSession) -> Answer:
    """Return a model's rows, newest first if it has an event time; an aggregate has its final rows."""
    output = _output(question)
    _check_streaming(question, spark, output)
    name, location = question.model.name, question.project.target.location
    with reporting_spark_errors(name, question.log, location):
        rows = _frame(question, inputs, spark.newSession(), output)
        times = [time for time, _ in KnownTraits().of(output).watermarks if time in rows.columns]
        if times:
            rows = rows.orderBy(*(rows[quote_name(time)].desc_nulls_last() for time in times))
        return _answer(rows, question.limit)


def source_rows(question: SampleRequest, spark: SparkSession) -> Answer:
    """Return rows of a source other than a topic."""
    with reporting_spark_errors(question.model.name, question.log):
        rows = spark_source(spark, question.project, question.model).rows()
        declared = question.catalog.row_sources[question.model].columns
        names = {column.name for column in declared}.intersection(rows.columns)
        return _answer(
            rows.select(*(quote_name(column.name) for column in declared if column.name in names)),
            question.limit,
        )


def _answer(rows: DataFrame, limit: int | None) -> Answer:
    table = (rows if limit is None else rows.limit(limit + 1)).toArrow()
    columns = [column.to_pylist(maps_as_pydicts="lossy") for column in table.columns]
    row_values: list[tuple[Any, ...]] = [*zip(*columns, strict=True)]
    more = limit is not None and len(row_values) > limit
    return Answer(tuple(table.column_names), row_values[:limit], more)


def _check_streaming(question: SampleRequest, spark: SparkSession, output: Output) -> None:
    """Refuse what a build would refuse, since Spark allows more in a batch."""
    plan, settings = Plan((output,)), physical_settings(question.catalog)
    references = reference_outputs(plan, question.catalog.sources)
    for query in physical_plan(plan, settings, None, references, views=True).queries:
        if question.model in query.models:
            check_streaming(spark, question.project, question.catalog, plan, query, question.log)


def model_frame(question: SampleRequest, inputs: Inputs, session: SparkSession) -> DataFrame:
    """Return a model's rows as an unordered DataFrame."""
    return _frame(question, inputs, session, _output(question))


def _frame(question: SampleRequest, inputs: Inputs, session: SparkSession, output: Output) -> DataFrame:
    views, fails_by = Views(), reads_of((output,))
    how = EmitOptions(locate_calls=True, fails_by=fails_by)
    emission = in_steps((output,), views.leaf, reads=views.of, how=how)
    order = in_order((output,))
    called = (name for node in order for expression in node.expressions for name in expression.functions)
    maintaining = maintaining_functions(order)
    names = dict.fromkeys((*called, *maintaining))
    functions.register_functions(session, question.project, names, (*nested_calls(order), *maintaining))
    functions.register_decoders(session, question.project, decoding_calls(order, fails_by))
    for source in source_reads(order, views):
        inputs.stream(session, source)
    for read in static_reads(order, views):
        inputs.at_rest(session, read)
    for node in order:
        if isinstance(node, Maintained):
            rows = maintained.all_rows(session, node.maintenance, static_reads(order, views))
            rows.createOrReplaceTempView(views.of(node.table, "differences"))
    for step in emission.steps:
        make_view(session, step, question.project, "append")
    rows = session.sql(emission.emitted.statement())
    # Versions are made of the rows when these are stored.
    columns = question.catalog.models[question.model].given_columns
    return rows.select(*(quote_name(column.name) for column in columns))


def _output(question: SampleRequest) -> Output:
    """Return the model's part of the plan, over sources instead of topics of other models."""
    plan = optimize_plan(
        written_plan(question.catalog), select_rules("all"), hints_of(question.catalog, one_query=True)
    ).plan
    return next(output for output in plan.outputs if output.model == question.model)


@contextmanager
def spark_for(
    question: SampleRequest, folder: Path, progress: Progress | None = None
) -> Iterator[SparkSession]:
    """Start Spark for one question; its log goes to `folder`."""
    target = question.project.target
    jars = jars_for(target, question.catalog.jars, progress)
    # Nothing is registered: a sink that is computed is not written.
    with (
        used_registry(question.project, question.catalog, ()) as registry,
        running_spark("millstream show", target, jars, folder) as spark,
    ):
        use_registry(spark, registry)
        yield spark
