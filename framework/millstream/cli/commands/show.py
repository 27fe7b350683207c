"""`millstream show`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from zoneinfo import ZoneInfo

import click
from msgspec import structs

from millstream.cli.commands import query
from millstream.cli.environments import defer_as_built
from millstream.cli.failed_builds import failed_builds
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, SampleOptions, cli_command, sample_options
from millstream.cli.project import compile_for, end_if_invalid, project_of, root_of, target_of
from millstream.compile.manifest import Compiled, ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.core.node_id import NodeId
from millstream.project.values import Target
from millstream.stores.query import StoredProject, run_query
from millstream.stores.tables.relations import StoredRelation, relations_in
from millstream.stores.tables.values import Answer

_LAST = 10_000


@cli_command(
    "show",
    "millstream show active_users",
    "millstream show shop.storefront_events --limit 3",
    "millstream show scored_storefront_events --compute --last 1000 --output json",
    "millstream show scored_storefront_events --sample 1000    # also before the first build",
    outputs=("csv",),
    environments=True,
)
@click.argument("name", metavar="MODEL")
@click.option(
    "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Show at most this many rows."
)
@click.option(
    "--compute", is_flag=True, help="Compute the rows from the model's SQL instead of reading stored ones."
)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=_LAST,
    show_default=True,
    metavar="N",
    help="When computing: read the newest N records of each partition.",
)
@sample_options
def command(
    common: CommonOptions, *, name: str, limit: int, compute: bool, last: int, sampled: SampleOptions
) -> int:
    """Show the newest rows of a model, source or seed.

    For a table, the rows as stored, the newest ones if they have a time: `order_by`, the start of a window
    that has closed, the event time, or a date or time in `partition_by`; for a sink or a topic, the newest
    records, decoded; for other sources, rows that Spark reads. A view is not stored: Spark computes it over
    the newest records of the topics it reads. Nothing is written or committed. A computed aggregate covers
    the records that were read, up to the end. With --sample or --empty, nothing has to be built before.
    """
    root, most = root_of(common), sampled.most
    if most is not None and last != _LAST:
        raise click.UsageError("--last belongs to --compute: --sample says how many records are read")
    compiled, target = defer_as_built(root, compile_for(common, root), target_of(common, root))
    relations = relations_in(compiled.manifest.nodes.values())
    relation = find_relation(name, relations)
    stored = StoredProject(root, target, relations, lambda: project_of(common, root).seeds)
    if (compute or most is not None) and relation.id.kind != "model":
        kind, option = "seed" if relation.kind == "seed" else "source", "--compute"
        if most is not None:
            option = "--sample" if most else "--empty"
        raise click.UsageError(f"{option} needs a model; '{relation.name}' is a {kind}")
    output = relation.stored
    warnings: list[Diagnostic] = []
    if most is not None:
        end_if_invalid(common, compiled)
        rows = _sampled(common, root, relation, limit, most)
    elif compute or (output is not None and not (output.stored_as and output.readable)):
        # Only the model's ancestors need to be valid, but a plan covers the whole project.
        end_if_invalid(common, compiled)
        rows = _compute(common, root, compiled, target, relation, limit, last)
    elif "kind" in compiled.manifest.nodes[relation.id].config:
        rows = _compute(common, root, compiled, target, relation, limit, last)
    elif not relation.at_rest:
        rows = _records(common, root, compiled.manifest.nodes, target, relation, limit)
        warnings += failed_builds(root, target, [relation.id])
    else:
        rows = run_query(_sql(relation, _time(compiled, relation)), stored, limit)
        warnings += failed_builds(root, target, [relation.id])
    return query.show_answer(common, rows, ZoneInfo(stored.zone), warnings)


def find_relation(name: str, relations: dict[str, StoredRelation]) -> StoredRelation:
    """Find a relation by its name in SQL, or a source by the last part of its name."""
    folded = name.lower()
    if folded in relations:
        return relations[folded]
    sources = [relation for full, relation in relations.items() if full.endswith(f".{folded}")]
    if len(sources) == 1:
        return sources[0]
    if sources:
        remedy = f"name one of {', '.join(source.name for source in sources)}"
        raise MillstreamError(Diagnostic("MS705", f"several sources are called '{name}'", None, remedy))
    remedy = did_you_mean(
        name, [relation.name for relation in relations.values()], "`millstream ls` lists all names"
    )
    raise MillstreamError(Diagnostic("MS705", f"there is no model, source or seed '{name}'", None, remedy))


def _sql(relation: StoredRelation, time: str | None) -> str:
    """Return a query of all rows, the newest first if they have a time."""
    by = f' order by "{time}" is null, "{time}" desc' if time else ""
    return f"select * from {relation.name}{by}"  # noqa: S608 - a relation of the project


def _time(compiled: Compiled, relation: StoredRelation) -> str | None:
    """Return the column with the time of a table's rows; only a valid project says which one that is."""
    if relation.stored is None:
        return None
    order = relation.options.get("order_by")
    if isinstance(order, str):
        return next((name for name, _ in relation.columns if name.lower() == order.lower()), None)
    if not compiled.catalog:
        return None
    from millstream.compile.graph import build_graph
    from millstream.plan.range_columns import range_column
    from millstream.queries.topology import read_catalog, with_ancestors, written_plan

    needed = build_graph(compiled.manifest.nodes).ancestors(relation.id) | {relation.id}
    plan = written_plan(with_ancestors(read_catalog(compiled), frozenset(needed)))
    (output,) = (output for output in plan.outputs if output.model == relation.id)
    column = range_column(output)
    return column.name if column is not None else None


def _records(
    common: CommonOptions,
    root: Path,
    nodes: dict[NodeId, ManifestNode],
    target: Target,
    relation: StoredRelation,
    limit: int,
) -> Answer:
    from millstream.cli.latest_records import newest_rows
    from millstream.kafka.connection import connect_kafka
    from millstream.kafka.registry.writers import registry_writers
    from millstream.kafka.topic_names import readings_of
    from millstream.kafka.topic_patterns import match_project

    project = structs.replace(project_of(common, root), target=target)
    with (
        jar_progress(common.style) as fetched,
        connect_kafka(project, fetched) as admin,
        registry_writers(project, fetched) as writers,
    ):
        project = match_project(project, nodes, admin)
        (reading,) = readings_of(project, nodes, admin, [relation.name])
        return newest_rows(admin, reading, limit, writers)


def _sampled(common: CommonOptions, root: Path, model: StoredRelation, limit: int, most: int) -> Answer:
    from millstream.cli.test_runs import options_of
    from millstream.testing.session import TestSession

    with closing(TestSession(root, options_of(common), sample=most)) as session:
        return session.sampling.rows(session.spark(), model.id, limit)


def _compute(
    common: CommonOptions,
    root: Path,
    compiled: Compiled,
    target: Target,
    model: StoredRelation,
    limit: int,
    last: int,
) -> Answer:
    from millstream.compile.graph import build_graph
    from millstream.kafka.connection import connect_kafka
    from millstream.kafka.topic_patterns import match_catalog
    from millstream.project.folders import target_folder
    from millstream.queries.topology import read_catalog, with_ancestors
    from millstream.runner.samples.compute import (
        SampleRequest,
        compute_rows,
        source_rows,
        spark_for,
    )

    project = structs.replace(project_of(common, root), target=target)
    is_source = model.id.kind == "source"
    needed = (
        frozenset() if is_source else build_graph(compiled.manifest.nodes).ancestors(model.id) | {model.id}
    )
    every = read_catalog(compiled)
    catalog = with_ancestors(every, frozenset(needed))
    log = target_folder(root, project.target) / "log"
    question = SampleRequest(project, catalog, model.id, limit, last, str(log / "spark.log"))
    if is_source:
        with jar_progress(common.style) as fetched, spark_for(question, log, fetched) as spark:
            return source_rows(question, spark)
    if not (common.style.quiet or common.style.json):
        click.echo(f"computing '{model.name}' from the last {last:,} records of each partition", err=True)
        sys.stderr.flush()
    with (
        jar_progress(common.style) as fetched,
        connect_kafka(project, fetched) as admin,
        spark_for(question, log, fetched) as spark,
    ):
        catalog = with_ancestors(match_catalog(every, admin), frozenset(needed))
        return compute_rows(structs.replace(question, catalog=catalog), admin, spark)
