"""Runs data tests of stored relations; all row and total tests of a relation run in one pass over it."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from millstream.compile.data_tests import DataTest, QueryTest, RowTest, TotalTest, data_test
from millstream.compile.manifest import Compiled, ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.testing.data.result import DataTestResult, NotBuilt
from millstream.testing.data.stored import StoredRelations
from millstream.testing.styled_text import Line, styled_line
from millstream.testing.value_text import format_value

_SHOWN = 5
_MOST = 1000
"""Rows that a query returns, unless the test tolerates more."""


_CALLED = re.compile(r"An error occurred while calling \S+$")


class DataTests:
    """Runs the data tests of a project, each once."""

    def __init__(self, compiled: Compiled, stored: StoredRelations) -> None:
        self._compiled = compiled
        self._stored = stored
        self._results: dict[NodeId, DataTestResult] = {}
        self._lock = threading.Lock()

    def run(self, node: ManifestNode) -> DataTestResult | NotBuilt:
        """Run a test; raise if it can't be run."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        test = data_test(node, self._compiled.tests)
        try:
            with self._lock:
                return self._result(test)
        except (PySparkException, Py4JError) as error:
            # Py4J says first which of its objects was called.
            lines = [line for line in str(error).strip().splitlines() if not _CALLED.match(line)]
            reason = lines[0].removeprefix(": ") if lines else "Spark has stopped"
            message = f"data test '{node.name}' can't be run: {reason[:400]}"
            remedy = "fix its SQL" if isinstance(error, PySparkException) else "run the tests again"
            of_sql = Diagnostic("MS661", message, None, remedy)
            of_records = self._stored.unreadable(f"data test '{node.name}'", error)
            raise MillstreamError(of_records or of_sql) from None

    def _result(self, test: DataTest) -> DataTestResult | NotBuilt:
        if test.id in self._results:
            return self._results[test.id]
        match test:
            case QueryTest(relations=relations):
                views = map(self._stored.view, relations)
                missing = [view for view in views if isinstance(view, NotBuilt)]
                return missing[0] if missing else self._query(self._stored.with_views(test.sql), test.at_most)
            case RowTest() | TotalTest():
                view = self._stored.view(test.relation)
                if isinstance(view, NotBuilt):
                    return view
                self._run_all(test.relation, view)
                if test.id not in self._results:
                    self._run(view, [test])  # raises its error again
                return self._results[test.id]

    def _run_all(self, relation: NodeId, view: str) -> None:
        """Run all row and total tests of a relation in one pass."""
        from pyspark.errors import PySparkException

        nodes = self._compiled.manifest.nodes.values()
        test_nodes = [node for node in nodes if node.kind == "test" and relation in node.depends_on]
        data_tests = (data_test(node, self._compiled.tests) for node in test_nodes)
        tests = [t for t in data_tests if isinstance(t, RowTest | TotalTest) and t.relation == relation]
        try:
            self._run(view, tests)
        except PySparkException:
            # The SQL of one of them is invalid; run each on its own, so that only that one fails.
            for test in tests:
                with suppress(PySparkException):
                    self._run(view, [test])

    def _run(self, view: str, tests: Sequence[RowTest | TotalTest]) -> None:
        items: list[str] = ["count(*)"]
        for test in tests:
            match test:
                case RowTest():
                    items += [f"count_if({self._stored.with_views(test.wrong)})", "''"]
                case TotalTest():
                    items += [f"if({test.wrong}, 1L, 0L)", test.report]
        (row,) = self._stored.session.sql(f"select {', '.join(items)} from {view}").collect()  # noqa: S608
        for index, test in enumerate(tests):
            failures, message = row[2 * index + 1] or 0, row[2 * index + 2]
            lines: tuple[Line, ...] = ()
            if failures and isinstance(test, RowTest):
                condition = self._stored.with_views(test.wrong)
                lines = self._query(f"select * from {view} where {condition}").lines  # noqa: S608
            self._results[test.id] = DataTestResult(failures, row[0], message or "", lines)

    def _query(self, sql: str, at_most: int = 0) -> DataTestResult:
        body, limit = sql.strip().rstrip(";"), max(_MOST, at_most) + 1
        limited = self._stored.session.sql(f"select * from (\n{body}\n) limit {limit}")  # noqa: S608
        rows = limited.toArrow().to_pylist()
        lines = tuple(styled_line(f"    {_row(row)}") for row in rows[:_SHOWN])
        more = (styled_line(f"    … and {len(rows) - _SHOWN:,} more"),) if len(rows) > _SHOWN else ()
        return DataTestResult(len(rows), lines=(*lines, *more))


def _row(row: Mapping[str, Any]) -> str:
    text = ", ".join(
        f"{name}: {format_value(value)}" for name, value in row.items() if not name.startswith("_")
    )
    return text if len(text) <= 160 else f"{text[:159]}…"
