"""Runs pytest over the tests of a project, for `millstream test`."""

from __future__ import annotations

import contextlib
import gc
import io
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from millstream.core.errors import Diagnostic
from millstream.project.values import Settings
from millstream.results.test_results import ModelCoverage, Status, TestResult
from millstream.testing.outcomes import as_data, status_of
from millstream.testing.plugin import hooks
from millstream.testing.plugin.failure import FailureReport
from millstream.testing.plugin.foreign_plugins import may_use_plugins
from millstream.testing.plugin.project_tests import TestRequest
from millstream.testing.styled_text import plain_text

_EXITS = {
    int(pytest.ExitCode.OK): 0,
    int(pytest.ExitCode.NO_TESTS_COLLECTED): 0,
    int(pytest.ExitCode.TESTS_FAILED): 1,
    int(pytest.ExitCode.INTERRUPTED): 1,  # tests that can't be imported
}


class Reporter:
    """A pytest plugin that passes the request of `millstream test`, and collects the results."""

    __name__ = hooks.REPORTER

    def __init__(self, request: TestRequest, began: float) -> None:
        self.request = request
        self._began = began
        """When the command began, by the monotonic clock."""
        self.results: list[TestResult] = []
        self.coverage: tuple[ModelCoverage, ...] = ()
        self.interrupted = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.interrupted = _is_interrupt(excinfo)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        plugins = config.pluginmanager
        plugins.unregister(name="terminalreporter")
        plugins.register(_Terminal(config, self._began), "terminalreporter")

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Spare pytest its search for errors in objects that no test in Python has left behind."""
        if not self.request.has_python:
            gc.freeze()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.results.append(_result(report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            text = str(report.longrepr)
            self.results.append(TestResult(report.nodeid, "python", "error", 0.0, report.nodeid, 1, (), text))


class _Terminal(pytest.TerminalReporter):  # type: ignore[misc]
    """Ends with the time of the whole command, where pytest has that of its session.

    pytest has no hook for this line, and its types call the class final.
    """

    def __init__(self, config: pytest.Config, began: float) -> None:
        super().__init__(config)
        self._began = began
        self._interrupted = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupted = _is_interrupt(excinfo)
        super().pytest_keyboard_interrupt(excinfo)

    def _report_keyboardinterrupt(self) -> None:
        """Leave what Ctrl-C ends to the command."""
        if not self._interrupted:
            super()._report_keyboardinterrupt()

    def summary_stats(self) -> None:
        parts, color = self.build_summary_stats_line()
        seconds = time.monotonic() - self._began
        self.write_sep("=", f"{', '.join(text for text, _ in parts)} in {seconds:.1f} s", **{color: True})


def _is_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """Return whether pytest ends because of Ctrl-C, and not because it can't import tests."""
    return not isinstance(excinfo.value, pytest.Session.Interrupted)


def run_pytest(
    root: Path,
    settings: Settings,
    reporter: Reporter,
    flags: Sequence[str],
    *,
    quiet: bool,
    color: bool,
    silent: bool,
) -> int:
    paths = [
        *settings.model_paths, *settings.macro_paths, *settings.seed_paths, *settings.test_paths,
    ]  # fmt: skip
    folders = list(dict.fromkeys(root / path for path in paths if (root / path).is_dir()))
    arguments = [*map(str, folders), f"--rootdir={root}", "--no-header", "--tb=short", *flags]
    # pytest would rewrite the assertions of a plugin's modules, but these have been imported already.
    arguments += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    arguments += ["-q"] if quiet else ["-v"]
    arguments += ["--color=auto" if color else "--color=no"]
    plugins: list[object] = [reporter]
    if not reporter.request.has_python and not may_use_plugins(root, folders):
        arguments.append("--disable-plugin-autoload")
        plugins.append(hooks)
    was_frozen = gc.get_freeze_count() > 0  # in a process that a warm session has forked
    with contextlib.redirect_stdout(io.StringIO()) if silent else contextlib.nullcontext():
        code = pytest.main(arguments, plugins=plugins)
    if not was_frozen:
        gc.unfreeze()
    if reporter.interrupted:
        raise KeyboardInterrupt
    has_error = any(result.status == "error" for result in reporter.results)
    return 2 if has_error else _EXITS.get(int(code), 2)


def _result(report: pytest.TestReport) -> TestResult:
    properties = dict(report.user_properties)
    path, line, _ = report.location
    shown = report.longrepr if isinstance(report.longrepr, FailureReport) else None
    diagnostics = shown.diagnostics if shown else ()
    details = ""
    if shown is not None:
        details = plain_text(shown.rows)
    elif isinstance(report.longrepr, tuple):
        details = str(report.longrepr[2])
    elif report.longrepr is not None:
        details = str(report.longrepr)
    elif "warned" in properties:
        details = str(properties["warned"])
    return TestResult(
        id=str(properties.get("id", report.nodeid)),
        kind=properties.get("kind", "python"),  # type: ignore[arg-type]
        status=_status(report, properties, diagnostics),
        seconds=round(report.duration, 3),
        path=path,
        line=(line or 0) + 1,
        diagnostics=tuple(as_data(diagnostic) for diagnostic in diagnostics),
        details=details,
        expired=int(str(properties.get("expired", 0))),
    )


def _status(
    report: pytest.TestReport, properties: dict[str, object], diagnostics: tuple[Diagnostic, ...]
) -> Status:
    if report.skipped:
        return "skipped"
    if report.passed:
        return "warn" if properties.get("warned") else "pass"
    return "fail" if not diagnostics else status_of(diagnostics)
