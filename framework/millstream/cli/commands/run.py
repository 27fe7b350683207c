"""`millstream run`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import (
    CommonOptions,
    SelectionRequest,
    StateOptions,
    cli_command,
    selection_options,
    state_options,
)
from millstream.cli.output import show_diagnostics
from millstream.cli.project import models_in, root_of
from millstream.core.errors import MillstreamError

if TYPE_CHECKING:
    from millstream.cli.run_progress import RunProgress


@cli_command(
    "run",
    "millstream run",
    "millstream run --select +daily_totals",
    "millstream run --rebuild daily_totals+   # after an edit that its state does not fit",
    "millstream run --target production --output json   # a line of JSON for each event",
    kind=SeveralValues,
    environments=True,
)
@selection_options
@state_options
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address for /metrics, /healthz and /readyz."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=9464,
    show_default=True,
    help="The port for them; 0 turns them off.",
)
@click.option("--shared", is_flag=True, help="Let other runs with --shared run other models of the target.")
def command(
    common: CommonOptions,
    request: SelectionRequest,
    changes: StateOptions,
    host: str,
    port: int,
    *,
    shared: bool,
) -> int:
    """Run every model continuously.

    A query that fails is restarted with increasing delay; the others continue. On SIGTERM or Ctrl-C, running
    micro-batches finish first, and the exit code is 0; a second signal ends the run at once. Offsets are
    committed to one consumer group per query, so that Kafka's tools show the lag.
    """
    root = root_of(common)
    compiled, job, diagnostics = compiled_job(common, root, request, changes)
    if views_alone := [
        replace(diagnostic, severity="error") for diagnostic in diagnostics if diagnostic.code == "MS613"
    ]:
        raise MillstreamError(*views_alone)
    job = replace(job, shared=shared)
    if not common.style.json:
        show_diagnostics(common.style, diagnostics, models_in(compiled))

    from millstream.cli.run_job import run_job
    from millstream.cli.signals import stopping_well
    from millstream.ops.health import health_of
    from millstream.ops.metrics import RunIdentity
    from millstream.ops.query_status import RunTotals
    from millstream.ops.serving import serve_metrics

    totals, target = RunTotals(), job.project.target
    identity = RunIdentity(job.project.settings.name, target.name)

    @contextmanager
    def served(progress: RunProgress) -> Iterator[None]:
        probes = serve_metrics(totals, host, port, health_of(target), identity) if port else nullcontext()
        with probes as address:
            progress.show_address(address)
            yield

    with stopping_well() as stopping:
        return run_job(common, compiled, job, diagnostics, totals, stopping, served)
