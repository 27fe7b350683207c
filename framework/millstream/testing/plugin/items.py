"""The tests in YAML and SQL files as pytest items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.compile.manifest import ManifestNode
from millstream.testing.outcomes import data_outcome
from millstream.testing.plugin.failure import FailureReport, TestFailedError, failure_report
from millstream.testing.plugin.project_tests import ProjectTests
from millstream.testing.units.expectations import update_expectations
from millstream.testing.units.verdict import UnitVerdict


class ProjectFile(pytest.File):
    """A YAML file with tests, or an SQL file with a data test."""

    def __init__(self, *, tests: ProjectTests, **rest: Any) -> None:
        super().__init__(**rest)
        self.tests = tests

    def collect(self) -> Iterator[pytest.Item]:
        nodes = self.tests.nodes_in(self.path)
        names = [node.name for node in nodes]
        items: list[ProjectItem] = []
        for node in nodes:
            name = node.name if names.count(node.name) == 1 else node.id.name
            kind = UnitItem if node.kind == "unit_test" else DataItem
            items.append(kind.from_parent(self, name=name, node=node, tests=self.tests))
        yield from sorted(items, key=lambda item: item.reportinfo()[1] or 0)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002
        return failure_report(excinfo.value) or super().repr_failure(excinfo)


class ProjectItem(pytest.Item):
    def __init__(self, *, node: ManifestNode, tests: ProjectTests, **rest: Any) -> None:
        super().__init__(**rest)
        self.node = node
        self.tests = tests
        self.user_properties += [("id", str(node.id)), ("kind", node.kind)]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return failure_report(excinfo.value) or super().repr_failure(excinfo, style)


class UnitItem(ProjectItem):
    """A unit test of a model."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.unit = self.tests.session.unit_test(self.node.id)

    def runtest(self) -> None:
        verdict = self.tests.verdict(self.nodeid, self.unit)
        if verdict.computed is not None and (expired := verdict.computed.expired):
            self.user_properties.append(("expired", expired))
            self.tests.expired[self.unit.model] += expired
        if not verdict.passed and self.tests.update and self._update(verdict):
            return
        if not verdict.passed:
            raise TestFailedError(verdict.diagnostics, verdict.lines)

    def _update(self, verdict: UnitVerdict) -> bool:
        """Replace the expected rows by the actual ones, if only rows differ."""
        if len(verdict.differences) < len(verdict.diagnostics):
            return False
        written = update_expectations(self.tests.session.files, self.unit, verdict.differences)
        if written:
            self.tests.updated.append(self.nodeid)
        return written

    def reportinfo(self) -> tuple[Any, int, str]:
        location = self.tests.session.files.location(self.unit, ("name",))
        return self.path, location.line - 1, f"{self.unit.model}: {self.name}"


class DataItem(ProjectItem):
    """A data test of stored rows."""

    def runtest(self) -> None:
        result = data_outcome(self.tests.session, self.node, strict=self.tests.request.strict)
        match result.status:
            case "skipped":
                pytest.skip(result.skipped)
            case "warn":
                self.user_properties.append(("warned", result.diagnostics[0].message))
                self.tests.warned.append(FailureReport(result.diagnostics, result.lines))
            case "fail" | "error":
                raise TestFailedError(result.diagnostics, result.lines)

    def reportinfo(self) -> tuple[Any, int, str]:
        return self.path, int(self.node.meta.get("line", 1)) - 1, self.name
