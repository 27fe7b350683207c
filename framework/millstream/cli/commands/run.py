"""`millstream run`."""

from __future__ import annotations

from contextlib import closing, nullcontext
from typing import TYPE_CHECKING

import click

from millstream.cli.jobs import compiled_job
from millstream.cli.multi_value_options import SeveralValues
from millstream.cli.options import Changes, Choice, Common, changing, choosing, cli_command
from millstream.cli.output import show
from millstream.cli.project import models_in, root_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from millstream.manifest import Compiled
    from millstream.runner.commands.run import Alongside
    from millstream.runner.values import Event, Job


@cli_command(
    "run",
    "millstream run",
    "millstream run --select +daily_totals",
    "millstream run --rebuild daily_totals+   # after an edit that its state does not fit",
    "millstream run --target production --output json   # a line of JSON for each event",
    kind=SeveralValues,
    environments=True,
)
@choosing
@changing
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
def command(common: Common, choice: Choice, changes: Changes, host: str, port: int) -> int:
    """Run every model continuously.

    A query that fails is restarted with increasing delay; the others continue. On SIGTERM or Ctrl-C, running
    micro-batches finish first, and the exit code is 0; a second signal ends the run at once. Offsets are
    committed to one consumer group per query, so that Kafka's tools show the lag.
    """
    root = root_of(common)
    compiled, job, diagnostics = compiled_job(common, root, choice, changes)
    if not common.style.json:
        show(common.style, diagnostics, models_in(compiled))

    from millstream.cli.run_progress import run_progress
    from millstream.cli.signals import stopping_well
    from millstream.ops.health import health_of
    from millstream.ops.metrics import Identity
    from millstream.ops.notifications.sending import notifying
    from millstream.ops.run_log import RunLog
    from millstream.ops.seen import Watcher
    from millstream.ops.serving import serving
    from millstream.runner.commands.run import run
    from millstream.runner.values import Told

    watcher, target = Watcher(), job.project.target
    identity = Identity(job.project.settings.name, target.name)
    with (
        stopping_well() as stopping,
        run_progress(common.style, watcher) as progress,
        progress.errors() as errors,
        notifying(target, identity, progress.handle) as tell,
        serving(watcher, host, port, health_of(target), identity) if port else nullcontext() as address,
    ):
        progress.show_address(address)
        for each in diagnostics if common.style.json else ():
            progress.handle(Told(each))
        log = RunLog(target, tell)
        tests = _tests(job, compiled, log.tell, stopping)
        with closing(log):
            run(job, root / ".millstream", log.tell, stopping, alongside=tests)
        progress.show_end()
    return 2 if errors else 0


def _tests(
    job: Job, compiled: Compiled, tell: Callable[[Event], None], stopping: threading.Event
) -> list[Alongside]:
    """Return the work of running data tests on an interval, if there are any to run."""
    from pathlib import Path

    from millstream.project.folders import target_folder
    from millstream.testing.data.repeated import keep_testing, repeated_tests
    from millstream.thresholds import interval_of_tests

    log = target_folder(Path(job.project.root), job.project.target) / "log" / "spark.log"
    tests = repeated_tests(job.project, compiled, job.models, str(log))
    every = interval_of_tests(job.project.target)
    if every is None or not tests.ids:
        return []
    return [lambda spark: keep_testing(tests, every, spark, stopping, tell)]
