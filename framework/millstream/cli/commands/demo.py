"""`millstream demo`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from millstream.cli.options import (
    CommonOptions,
    PageOptions,
    SelectionRequest,
    StateOptions,
    cli_command,
    serving_page,
)
from millstream.cli.project_templates import make_project, template_of
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.settings import FILE

if TYPE_CHECKING:
    import threading

    from millstream.cli.run_progress import RunProgress
    from millstream.deploy.values import Tell

_NAME = "demo"


@cli_command(
    "demo",
    "millstream demo",
    "millstream demo cafe              # keep the project in the folder cafe",
    "millstream demo . --rate 100      # of the project in this folder",
)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Records per topic and second.",
)
@serving_page
def command(common: CommonOptions, *, path: Path | None, rate: float, page: PageOptions) -> int:
    """Run a project with live test traffic, and show it on a live page.

    The page shows the lineage with the records that flow through it, rates, latency, lag, and the newest rows
    of tables and topics. It is served on this machine only, and makes no requests to other servers. Ctrl-C
    ends the demo and all that it started.

    PATH is a new or empty folder, in which the demo's project is made and stays, or the folder of a project
    with generators in seeds/, which runs on the local target. Without PATH, the project is temporary.
    """
    from millstream.cli.signals import stopping_well

    with stopping_well() as stopping, _folder(common, path) as root:
        return _run(replace(common, project_dir=root), stopping, rate, page)


@contextmanager
def _folder(common: CommonOptions, path: Path | None) -> Iterator[Path]:
    """Yield the folder of the project, which is made unless it is there."""
    if path is None:
        with tempfile.TemporaryDirectory(prefix="millstream-", ignore_cleanup_errors=True) as folder:
            root = Path(folder) / _NAME
            make_project(root, _NAME, template_of(_NAME))
            yield root
        return
    root = ((common.project_dir or Path()) / path).resolve()
    if not (root / FILE).is_file():
        from millstream.cli.commands.init import check_name

        check_name(root.name, path)
        make_project(root, root.name, template_of(_NAME))
    yield root


def _run(common: CommonOptions, stopping: threading.Event, rate: float, page: PageOptions) -> int:
    from millstream.cli.jobs import compiled_job
    from millstream.cli.output import show_diagnostics
    from millstream.cli.project import models_in, root_of
    from millstream.cli.run_job import run_job
    from millstream.cli.traffic import chosen_generators
    from millstream.kafka.cluster import is_embedded
    from millstream.ops.query_status import RunTotals

    compiled, job, diagnostics = compiled_job(common, root_of(common), SelectionRequest(), StateOptions())
    target = job.project.target
    if not is_embedded(target):
        message = f"target '{target.name}' has a Kafka cluster of its own, and a demo sends test traffic"
        remedy = "choose a target with `kafka: embedded` with --target, or use `millstream run` and `produce`"
        raise MillstreamError(Diagnostic("MS687", message, target.location, remedy))
    generators = chosen_generators(job.project, ())
    if not common.style.json:
        show_diagnostics(common.style, diagnostics, models_in(compiled))
    totals = RunTotals()

    @contextmanager
    def served(progress: RunProgress) -> Iterator[Tell]:
        from millstream.cli.live_relations import live_relations
        from millstream.cli.live_traffic import live_traffic
        from millstream.deploy.values import DiagnosticEvent
        from millstream.docs.generate import generate_site
        from millstream.kafka.connection import connect_kafka
        from millstream.kafka.registry.writers import registry_writers
        from millstream.ops.live_page.lineage import drawn_lineage
        from millstream.ops.live_page.page import LivePage
        from millstream.ops.live_page.rows import NewestRows
        from millstream.ops.live_page.server import serving_page as serve

        def failed(error: MillstreamError) -> None:
            for diagnostic in error.diagnostics:
                progress.handle(DiagnosticEvent(diagnostic))

        root, target_path = Path(job.project.root), job.project.settings.target_path
        folder = root / target_path / "docs"
        site, _ = generate_site(root, compiled, target_path, folder)  # the page links to it
        sources = {NodeId("source", id_): topic.topic_names for id_, topic in job.project.topics.items()}
        with ExitStack() as stack:
            admin = stack.enter_context(connect_kafka(job.project))
            writers = stack.enter_context(registry_writers(job.project))
            rows = NewestRows(live_relations(job.project, compiled.manifest.nodes, admin, writers))
            live = LivePage(job.project.settings.name, sources, totals, rows)
            stack.enter_context(rows.reading())
            address = stack.enter_context(serve(live, drawn_lineage(site), folder, page.port))
            progress.show_page(address)
            page.opened(address)
            traffic = live_traffic(job.project, admin, generators, rate, writers, live.sent, failed)
            stack.enter_context(traffic)
            yield live.tell

    return run_job(common, compiled, job, diagnostics, totals, stopping, served)
