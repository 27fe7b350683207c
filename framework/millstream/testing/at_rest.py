"""Data tests of what is stored: all that look at one row of a relation ask in a single pass over it."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from millstream.data_tests import DataTest, QueryTest, RowTest, TotalTest, data_test, named
from millstream.errors import Diagnostic, MillstreamError
from millstream.graph import build_graph
from millstream.manifest import ManifestNode
from millstream.project.folders import broker_folder
from millstream.testing.showing import Line, line, shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.kafka.clients import Admin
    from millstream.testing.bed import Bed

_SHOWN = 5
_MANY = 1000
"""Rows that a query is asked for, unless more are tolerated."""
_NAMES = re.compile(r"('(?:[^'\\]|\\.)*')|\b((?:models|seeds)\.\w+|sources\.\w+\.\w+)\b")


class NotBuilt(Struct, frozen=True):
    name: str


class Found(Struct, frozen=True):
    """What a data test found."""

    wrong: int = 0
    """Rows; 1 where an aggregate is wrong."""
    rows: int = 0
    """All that a test of single rows looked at."""
    told: str = ""
    lines: tuple[Line, ...] = ()


class AtRest:
    """What a project has stored, opened when the first test asks for it."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self._stack = ExitStack()
        self._session: SparkSession | None = None
        self._admin: Admin | None = None
        self._views: dict[str, str | NotBuilt] = {}
        self._asked: dict[str, Found] = {}
        self._lock = threading.Lock()

    def found(self, node: ManifestNode) -> Found | NotBuilt:
        """Run a test; raise what can't be run."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        test = self._test(node)
        try:
            with self._lock:
                return self._found(test)
        except (PySparkException, Py4JError) as error:
            said = str(error).strip().partition("\n")[0]
            message = f"data test '{node.name}' can't be run: {said[:400]}"
            raise MillstreamError(Diagnostic("MS661", message, None, "mend its SQL")) from None

    def rows(self, relation: str) -> list[dict[str, Any]] | NotBuilt:
        """Return all rows of a relation."""
        with self._lock:
            view = self._view(relation)
            return view if isinstance(view, NotBuilt) else self.session.table(view).toArrow().to_pylist()

    def close(self) -> None:
        for view in self._views.values():
            if isinstance(view, str):
                self.session.catalog.dropGlobalTempView(view.partition(".")[2])
        self._stack.close()

    def _test(self, node: ManifestNode) -> DataTest:
        return data_test(node, self.bed.main.compiled.tests)

    def _found(self, test: DataTest) -> Found | NotBuilt:
        if test.id in self._asked:
            return self._asked[test.id]
        match test:
            case QueryTest(relations=relations):
                missing = [view for id_ in relations if isinstance(view := self._view(id_), NotBuilt)]
                return missing[0] if missing else self._query(self._placed(test.sql), test.at_most)
            case RowTest() | TotalTest():
                view = self._view(test.relation)
                if isinstance(view, NotBuilt):
                    return view
                self._ask_all(test.relation, view)
                if test.id not in self._asked:
                    self._ask(view, [test])  # raises once more what is wrong with it
                return self._asked[test.id]

    # -- one pass for all tests of a relation that need no more

    def _ask_all(self, relation: str, view: str) -> None:
        from pyspark.errors import PySparkException

        nodes = self.bed.nodes.values()
        every = [self._test(node) for node in nodes if node.kind == "test" and relation in node.depends_on]
        tests = [each for each in every if isinstance(each, RowTest | TotalTest)]
        tests = [each for each in tests if each.relation == relation]
        try:
            self._ask(view, tests)
        except PySparkException:
            # SQL of one of them is wrong: that one alone shall fail.
            for test in tests:
                with suppress(PySparkException):
                    self._ask(view, [test])

    def _ask(self, view: str, tests: Sequence[RowTest | TotalTest]) -> None:
        items: list[str] = ["count(*)"]
        for test in tests:
            match test:
                case RowTest():
                    items += [f"count_if({self._placed(test.wrong)})", "''"]
                case TotalTest():
                    items += [f"if({test.wrong}, 1L, 0L)", test.told]
        (row,) = self.session.sql(f"select {', '.join(items)} from {view}").collect()  # noqa: S608
        for index, test in enumerate(tests):
            wrong, told = row[2 * index + 1] or 0, row[2 * index + 2]
            lines: tuple[Line, ...] = ()
            if wrong and isinstance(test, RowTest):
                wanted = f"select * from {view} where {self._placed(test.wrong)}"  # noqa: S608
                lines = self._query(wanted).lines
            self._asked[test.id] = Found(wrong, row[0], told or "", lines)

    def _query(self, sql: str, at_most: int = 0) -> Found:
        body, limit = sql.strip().rstrip(";"), max(_MANY, at_most) + 1
        rows = self.session.sql(f"select * from (\n{body}\n) limit {limit}").toArrow().to_pylist()  # noqa: S608
        lines = tuple(line(f"    {_row(each)}") for each in rows[:_SHOWN])
        more = (line(f"    … and {len(rows) - _SHOWN:,} more"),) if len(rows) > _SHOWN else ()
        return Found(len(rows), lines=(*lines, *more))

    # -- relations as views

    @property
    def session(self) -> SparkSession:
        if self._session is None:
            self._session = self.bed.spark().newSession()
        return self._session

    def _placed(self, sql: str) -> str:
        """Write the names of views for those of relations; subqueries may name any."""
        return _NAMES.sub(self._named, sql)

    def _named(self, match: re.Match[str]) -> str:
        if match[1]:
            return match[0]
        kind, _, name = match[2].partition(".")
        view = self._view(f"{kind[:-1]}.{name}")
        return view if isinstance(view, str) else match[0]

    def _view(self, relation: str) -> str | NotBuilt:
        if relation not in self._views:
            self._views[relation] = self._made(relation)
        return self._views[relation]

    def _made(self, relation: str) -> str | NotBuilt:
        from millstream.runner.resting import NotBuiltError, Resting

        main = self.bed.main
        log = str(self.bed.folder / "log" / "spark.log")
        catalog, traits = main.relations.catalog, main.relations.traits
        resting = Resting(main.project, catalog, traits, self.admin, self._above, log)
        name = f"rest_{id(self)}_" + re.sub(r"\W", "_", named(relation))
        try:
            # Each relation is read in a session of its own, whose views are in no one's way.
            own = self.session.newSession()
            resting.rows(own, relation).createGlobalTempView(name)
        except NotBuiltError as error:
            return NotBuilt(str(error))
        except MillstreamError as error:
            if any(each.code in {"MS827", "MS843"} for each in error.diagnostics):
                return NotBuilt(relation.partition(".")[2])
            raise
        return f"global_temp.{name}"

    def _above(self, relation: str) -> frozenset[str]:
        return build_graph(self.bed.nodes).ancestors(relation) | {relation}

    def admin(self) -> Admin:
        """Return the target's Kafka; the local one is started only where it has topics."""
        if self._admin is None:
            from millstream.kafka.opening import connected
            from millstream.runner.resting import NotBuiltError

            project = self.bed.main.project
            embedded = project.target.settings.get("kafka", "embedded") == "embedded"
            if embedded and not broker_folder(Path(project.root)).is_dir():
                raise NotBuiltError(project.settings.name)
            self._admin = self._stack.enter_context(connected(project))
        return self._admin


def _row(row: Mapping[str, Any]) -> str:
    text = ", ".join(f"{name}: {shown(value)}" for name, value in row.items() if not name.startswith("_"))
    return text if len(text) <= 160 else f"{text[:159]}…"
