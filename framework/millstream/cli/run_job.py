"""Runs a job until it is stopped, with its progress, notifications and log: for `run` and `demo`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from typing import TYPE_CHECKING

from millstream.core.errors import Diagnostic

if TYPE_CHECKING:
    import threading

    from millstream.cli.options import CommonOptions
    from millstream.cli.run_progress import RunProgress
    from millstream.compile.manifest import Compiled
    from millstream.deploy.values import Event, Job, Tell
    from millstream.ops.query_status import RunTotals
    from millstream.runner.commands.run import Alongside

    Served = Callable[[RunProgress], AbstractContextManager[Tell | None]]
    """Serves something while the job runs; what it yields gets the events, too."""


def run_job(
    common: CommonOptions,
    compiled: Compiled,
    job: Job,
    diagnostics: Sequence[Diagnostic],
    totals: RunTotals,
    stopping: threading.Event,
    served: Served,
) -> int:
    from pathlib import Path

    from millstream.cli.run_progress import run_progress
    from millstream.deploy.values import DiagnosticEvent
    from millstream.ops.metrics import RunIdentity
    from millstream.ops.notifications.sending import send_notices
    from millstream.ops.run_log import RunLog
    from millstream.runner.commands.run import run_models

    target = job.project.target
    identity = RunIdentity(job.project.settings.name, target.name)
    with (
        run_progress(common.style, totals) as progress,
        progress.errors() as errors,
        send_notices(target, identity, progress.handle) as tell,
        served(progress) as also,
    ):

        def both(event: Event) -> None:
            tell(event)
            if also is not None:
                also(event)

        for diagnostic in diagnostics if common.style.json else ():
            progress.handle(DiagnosticEvent(diagnostic))
        log = RunLog(target, both)
        tests = _tests(job, compiled, log.tell, stopping)
        with closing(log):
            run_models(job, Path(job.project.root) / ".millstream", log.tell, stopping, alongside=tests)
        progress.show_end()
    return 2 if errors else 0


def _tests(
    job: Job, compiled: Compiled, tell: Callable[[Event], None], stopping: threading.Event
) -> list[Alongside]:
    """Return the work of running data tests on an interval, if there are any to run."""
    from pathlib import Path

    from millstream.project.folders import target_folder
    from millstream.results.thresholds import interval_of_tests
    from millstream.testing.data.repeated import keep_testing, repeated_tests

    log = target_folder(Path(job.project.root), job.project.target) / "log" / "spark.log"
    tests = repeated_tests(job.project, compiled, job.models, str(log))
    every = interval_of_tests(job.project.target)
    if every is None or not tests.ids:
        return []
    return [lambda spark: keep_testing(tests, every, spark, stopping, tell)]
