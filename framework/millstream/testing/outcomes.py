"""Runs one test of a project's YAML or SQL files, for pytest and for builds."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import Location
from millstream.project.values import UnitTest
from millstream.results.test_results import Status, TestResult
from millstream.testing.data.result import DataTestResult, NotBuilt, describe_tolerance, is_tolerated
from millstream.testing.session import TestSession
from millstream.testing.styled_text import Line, plain_text
from millstream.testing.units.verdict import UnitVerdict

_INVALID_TEST = frozenset(f"MS{number}" for number in range(650, 658)) | {"MS661"}
"""Codes of errors in a test itself, not in what it tests."""


class TestOutcome(Struct, frozen=True):
    diagnostics: tuple[Diagnostic, ...] = ()
    """Why it failed, or, with severity `warning`, would have."""
    lines: tuple[Line, ...] = ()
    """The rows that differ."""
    skipped: str = ""
    expired: int = 0
    """Rows or keys of state that expired."""

    __test__ = False  # not a test of pytest

    @property
    def status(self) -> Status:
        return "skipped" if self.skipped else status_of(self.diagnostics)

    def result(self, session: TestSession, node: ManifestNode, seconds: float) -> TestResult:
        location = location_of(session, node)
        kind: Literal["unit_test", "test"] = "unit_test" if node.kind == "unit_test" else "test"
        warned = self.diagnostics[0].message if self.status == "warn" else ""
        return TestResult(
            str(node.id),
            kind,
            self.status,
            round(seconds, 3),
            location.path,
            location.line,
            () if warned else tuple(map(as_data, self.diagnostics)),
            self.skipped or warned or plain_text(self.lines),
            expired=self.expired,
        )


def status_of(diagnostics: tuple[Diagnostic, ...]) -> Status:
    if not diagnostics:
        return "pass"
    if all(diagnostic.severity == "warning" for diagnostic in diagnostics):
        return "warn"
    return "error" if any(diagnostic.code in _INVALID_TEST for diagnostic in diagnostics) else "fail"


def as_data(diagnostic: Diagnostic) -> dict[str, Any]:
    location = diagnostic.location
    return {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "path": location.path if location else None,
        "line": location.line if location else None,
        "column": location.column if location else None,
        "help": diagnostic.help,
    }


def outcome_of(session: TestSession, node: ManifestNode) -> TestOutcome:
    """Run a test; one that is itself wrong has an outcome, too."""
    try:
        if node.kind == "unit_test":
            return unit_outcome(session.judge(session.unit_test(node.id)))
        return data_outcome(session, node)
    except MillstreamError as error:
        return TestOutcome(error.diagnostics)


def unit_outcome(verdict: UnitVerdict) -> TestOutcome:
    expired = verdict.computed.expired if verdict.computed is not None else 0
    return TestOutcome(verdict.diagnostics, verdict.lines, expired=expired)


def data_outcome(session: TestSession, node: ManifestNode, *, strict: bool = False) -> TestOutcome:
    """Run a data test; if strict, its relations must have been built."""
    try:
        result = session.data_tests.run(node)
    except MillstreamError as error:
        raise MillstreamError(
            *(_at_test(session, node, diagnostic) for diagnostic in error.diagnostics)
        ) from None
    if isinstance(result, NotBuilt):
        message = f"'{result.name}' has not been built"
        if not strict:
            return TestOutcome(skipped=message)
        location = location_of(session, node)
        raise MillstreamError(Diagnostic("MS661", message, location, "run `millstream build`"))
    return TestOutcome() if is_tolerated(node, result) else _failed(session, node, result)


def _at_test(session: TestSession, node: ManifestNode, diagnostic: Diagnostic) -> Diagnostic:
    """Return an error with the place of the test, unless it has one."""
    if diagnostic.location is not None or diagnostic.code != "MS661":
        return diagnostic
    location = location_of(session, node)
    return replace(
        diagnostic, location=location, line=session.files.file(location.path)[0].line(location.line)
    )


def _failed(session: TestSession, node: ManifestNode, result: DataTestResult) -> TestOutcome:
    location = location_of(session, node)
    line = session.files.file(location.path)[0].line(location.line)
    finding = result.message or f"{_rows(result.failures)}{describe_tolerance(node)}"
    message = f"data test '{node.name}': {finding}"
    diagnostic = Diagnostic("MS660", message, location, "fix the model, or the test", line)
    if node.config.get("severity", "error") == "warn":
        diagnostic = replace(diagnostic, severity="warning")
    return TestOutcome((diagnostic,), result.lines)


def _rows(number: int) -> str:
    """Return `3 rows fail`; queries return about a thousand rows at most."""
    many = "more than 1,000" if number > 1000 else f"{number:,}"
    return "1 row fails" if number == 1 else f"{many} rows fail"


def location_of(session: TestSession, node: ManifestNode) -> Location:
    if node.kind == "unit_test":
        unit: UnitTest = session.unit_test(node.id)
        return session.files.location(unit, ("name",))
    number = int(node.meta.get("line", 1))
    text, _ = session.files.file(node.path)
    start = text.offset(number, 1)
    line = text.line(number)
    return text.location(start + len(line) - len(line.lstrip()), start + len(line))
