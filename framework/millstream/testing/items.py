"""Tests of YAML and SQL files as pytest knows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import TerminalRepr
from msgspec.structs import replace

from millstream.errors import Diagnostic, MillstreamError
from millstream.testing.at_rest import Found, NotBuilt
from millstream.testing.judging import Verdict
from millstream.testing.plugin import tests_of
from millstream.testing.showing import Line, Style, plain, told
from millstream.testing.tolerated import said_of, tolerated
from millstream.testing.updating import update
from millstream.text import Location

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter

    from millstream.manifest import ManifestNode
    from millstream.testing.session import Tests

_MARKUP: dict[Style, dict[str, bool]] = {
    "": {},
    "bold": {"bold": True},
    "red": {"red": True},
    "green": {"green": True},
    "dim": {"light": True},
    "bad": {"red": True, "bold": True, "invert": True},
    "good": {"green": True, "bold": True, "invert": True},
    "cyan": {"cyan": True},
}


class TestFailedError(Exception):
    """A test that failed: what is wrong, and the rows that show it."""

    __test__ = False  # pytest, this is none

    def __init__(self, problems: Iterable[Diagnostic], lines: Iterable[Line]) -> None:
        self.problems = tuple(problems)
        self.lines = tuple(lines)
        super().__init__("; ".join(f"{each.code}: {each.message}" for each in self.problems))


class Shown(TerminalRepr):
    """Lines in colours where there is a terminal that has them."""

    def __init__(self, problems: Iterable[Diagnostic], rows: Iterable[Line]) -> None:
        self.problems = tuple(problems)
        self.rows = tuple(rows)
        self.lines = (*(each for problem in self.problems for each in told(problem)), *self.rows)

    def __str__(self) -> str:
        return plain(self.lines)

    def toterminal(self, tw: TerminalWriter) -> None:
        for each in self.lines:
            for piece in each:
                tw.write(piece.text, **_MARKUP[piece.style])
            tw.line()


def shown_of(error: BaseException) -> Shown | None:
    """Return what a person is told of an error that is no mistake of Millstream's."""
    match error:
        case TestFailedError(problems=problems, lines=rows):
            return Shown(problems, rows)
        case MillstreamError(diagnostics=problems):
            return Shown(problems, ())
        case _:
            return None


class ProjectFile(pytest.File):
    """A YAML file with tests, or an SQL file that is one."""

    def collect(self) -> Iterator[pytest.Item]:
        tests = tests_of(self.config)
        assert tests is not None
        nodes = tests.nodes_in(self.path)
        names = [node.name for node in nodes]
        found: list[ProjectItem] = []
        for node in nodes:
            name = node.name if names.count(node.name) == 1 else node.id.partition(".")[2]
            kind = UnitItem if node.kind == "unit_test" else DataItem
            found.append(kind.from_parent(self, name=name, node=node, tests=tests))
        yield from sorted(found, key=lambda item: item.reportinfo()[1] or 0)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002
        return shown_of(excinfo.value) or super().repr_failure(excinfo)


class ProjectItem(pytest.Item):
    def __init__(self, *, node: ManifestNode, tests: Tests, **rest: Any) -> None:
        super().__init__(**rest)
        self.node = node
        self.tests = tests
        self.user_properties += [("id", node.id), ("kind", node.kind)]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return shown_of(excinfo.value) or super().repr_failure(excinfo, style)


class UnitItem(ProjectItem):
    """A unit test of a model."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.written = self.tests.bed.written(self.node.id)

    def runtest(self) -> None:
        verdict = self.tests.verdict(self)
        if not verdict.passed and self.tests.update and self._updated(verdict):
            return
        if not verdict.passed:
            raise TestFailedError(verdict.problems, verdict.lines)

    def _updated(self, verdict: Verdict) -> bool:
        """Write what came as what is expected, where that is all that is wrong."""
        if len(verdict.differences) < len(verdict.problems):
            return False
        written = update(self.tests.bed.places, self.written, verdict.differences)
        if written:
            self.tests.updated.append(self.nodeid)
        return written

    def reportinfo(self) -> tuple[Any, int, str]:
        place = self.tests.bed.places.location(self.written, ("name",))
        return self.path, place.line - 1, f"{self.written.model}: {self.name}"


class DataItem(ProjectItem):
    """A data test of what is stored."""

    def runtest(self) -> None:
        found = self.tests.bed.at_rest.found(self.node)
        if isinstance(found, NotBuilt):
            self._skip(found.name)
        elif not tolerated(self.node, found):
            self._fail(found)

    def _skip(self, name: str) -> None:
        choice = self.tests.choice
        if choice is not None and choice.strict:
            remedy = "build it: `millstream build`"
            raise MillstreamError(Diagnostic("MS661", f"'{name}' has not been built", self._place(), remedy))
        pytest.skip(f"'{name}' has not been built")

    def _fail(self, found: Found) -> None:
        severity = self.node.config.get("severity", "error")
        place, said = self._place(), found.told or f"{_rows(found.wrong)} wrong{said_of(self.node)}"
        text, _ = self.tests.bed.places.file(place.path)
        message = f"data test '{self.node.name}': {said}"
        remedy = "mend what makes them, or what the test asks"
        problem = Diagnostic("MS660", message, place, remedy, text.line(place.line))
        if severity == "warn":
            self.user_properties.append(("warned", message))
            self.tests.warned.append(Shown((replace(problem, severity="warning"),), found.lines))
            return
        raise TestFailedError((problem,), found.lines)

    def _place(self) -> Location:
        number = int(self.node.meta.get("line", 1))
        text, _ = self.tests.bed.places.file(self.node.path)
        start = text.offset(number, 1)
        whole = text.line(number)
        return text.location(start + len(whole) - len(whole.lstrip()), start + len(whole))

    def reportinfo(self) -> tuple[Any, int, str]:
        return self.path, int(self.node.meta.get("line", 1)) - 1, self.name


def _rows(number: int) -> str:
    """Say `3 rows are`; a query is not asked for more than a thousand."""
    many = "more than 1,000" if number > 1000 else f"{number:,}"
    return "1 row is" if number == 1 else f"{many} rows are"
