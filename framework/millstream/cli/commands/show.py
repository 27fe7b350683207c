"""`millstream show`."""

from __future__ import annotations

import sys
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from millstream.cli.commands import query
from millstream.cli.jar_progress import fetching
from millstream.cli.options import Common, common
from millstream.cli.output import finish
from millstream.cli.project import compiled, failed, models_in, root_of
from millstream.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.manifest import Compiled, ManifestNode
from millstream.stores.query import StoredProject, answer
from millstream.tables.known import Known, known_in
from millstream.tables.values import Answer

_LAST = 10_000


@click.command(
    "show",
    epilog=(
        "\b\nExamples:\n  millstream show active_users"
        "\n  millstream show shop.storefront_events --limit 3"
        "\n  millstream show scored_storefront_events --compute --last 1000 --output json"
    ),
)
@common("csv")
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
def command(common: Common, *, name: str, limit: int, compute: bool, last: int) -> int:
    """Show the newest rows of a model, source or seed.

    For a table, the rows as stored; for a sink or a source, the newest records of its topic, decoded. A view
    is not stored: Spark computes it over the newest records of the topics it reads. Nothing is written or
    committed. A computed aggregate covers the records that were read, up to the end.
    """
    root = root_of(common)
    found = compiled(common, root)
    known = known_in(found.manifest.nodes.values())
    wanted = resolved(name, known)
    stored = StoredProject(root, query.target_of(common, root), known, lambda: query.seeds_of(common, root))
    is_model = wanted.id.startswith("model.")
    if compute and not is_model:
        raise click.UsageError(f"--compute is of a model, and '{wanted.name}' is a {_called(wanted)}")
    if compute or (wanted.stored is not None and wanted.stored.inlined):
        # Only what the model stands on needs to be right, but a plan is made of a whole project.
        if failed(found):
            return finish(common.look, found.diagnostics, models=models_in(found))
        rows = _computed(common, root, found, wanted, limit, last)
    elif not wanted.at_rest:
        rows = _records(common, root, found.manifest.nodes, wanted, limit)
    else:
        rows = answer(_sql(wanted), stored, limit)
    return query.show(common, rows, ZoneInfo(stored.zone))


def resolved(name: str, known: dict[str, Known]) -> Known:
    """Return what a name means: as SQL has it, or a source by its last part."""
    folded = name.lower()
    found = known.get(folded)
    parts = [each for full, each in known.items() if full.endswith(f".{folded}")]
    if found is not None:
        return found
    if len(parts) == 1:
        return parts[0]
    if parts:
        remedy = f"name one of {', '.join(each.name for each in parts)}"
        raise MillstreamError(Diagnostic("MS705", f"'{name}' means several sources", None, remedy))
    remedy = did_you_mean(name, [each.name for each in known.values()], "`millstream ls` lists what there is")
    raise MillstreamError(Diagnostic("MS705", f"there is no model, source or seed '{name}'", None, remedy))


def _called(known: Known) -> str:
    return "seed" if known.kind == "seed" else "source"


def _sql(known: Known) -> str:
    """Return a query of all rows: the newest first, where a table tells which those are."""
    order = known.options.get("order_by") if known.stored is not None else None
    there = {name.lower(): name for name, _ in known.columns}
    by = (
        f' order by "{there[order.lower()]}" desc'
        if isinstance(order, str) and order.lower() in there
        else ""
    )
    return f"select * from {known.name}{by}"  # noqa: S608 - a relation of the project


def _records(common: Common, root: Path, nodes: dict[str, ManifestNode], wanted: Known, limit: int) -> Answer:
    from millstream.cli.latest_records import newest_rows
    from millstream.kafka.opening import connected
    from millstream.kafka.topic_names import readings_of
    from millstream.project.load import load_project

    project = load_project(root, common.target, common.vars, common.profiles_dir)
    with fetching(common.look) as fetched, connected(project, fetched) as admin:
        (reading,) = readings_of(project, nodes, admin, [wanted.name])
        return newest_rows(admin, reading, limit)


def _computed(common: Common, root: Path, found: Compiled, wanted: Known, limit: int, last: int) -> Answer:
    from millstream.graph import build_graph
    from millstream.kafka.opening import connected
    from millstream.project.folders import target_folder
    from millstream.project.load import load_project
    from millstream.runner.samples.compute import Question, compute, spark_for, with_ancestors
    from millstream.topology import read_catalog

    project = load_project(root, common.target, common.vars, common.profiles_dir)
    needed = build_graph(found.manifest.nodes).ancestors(wanted.id) | {wanted.id}
    catalog = with_ancestors(read_catalog(found), frozenset(needed))
    log = target_folder(root, project.target.name) / "log"
    question = Question(project, catalog, wanted.id, limit, last, str(log / "spark.log"))
    if not (common.look.quiet or common.look.json):
        click.echo(f"computing '{wanted.name}' from the last {last:,} records of each partition", err=True)
        sys.stderr.flush()
    with (
        fetching(common.look) as fetched,
        connected(project, fetched) as admin,
        spark_for(question, log, fetched) as spark,
    ):
        return compute(question, admin, spark)
