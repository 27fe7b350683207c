"""The values of the fixtures `run_model` and `topic` for tests in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.plan.nodes import Column
from millstream.project.references import parse_reference
from millstream.project.values import UnitTest
from millstream.testing.data.result import NotBuilt
from millstream.testing.session import TestSession
from millstream.testing.units.files import tested_model
from millstream.testing.units.records import arrow_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

InputRows = Sequence[Mapping[str, Any]]


class Rows(list[dict[str, Any]]):
    """Rows as dictionaries, and as a DataFrame."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], frame: Callable[[], DataFrame]) -> None:
        super().__init__(map(dict, rows))
        self._frame = frame

    @property
    def df(self) -> DataFrame:
        """The same rows with the types of their columns; all columns are nullable."""
        return self._frame()


class RunModel(Struct, frozen=True):
    """Runs a model over rows: `run_model("+daily_totals", inputs={"source('shop', 'events')": [{…}]})`."""

    session: TestSession

    def __call__(
        self,
        name: str,
        inputs: Mapping[str, InputRows],
        *,
        at: str | None = None,  # name: the key of YAML
        now: str | None = None,
        vars: Mapping[str, Any] | None = None,  # noqa: A002 - as in YAML
        functions: Mapping[str, Any] | None = None,
    ) -> Rows:
        """Return the rows of a model, as in a unit test in YAML.

        `+name` also computes the models upstream; `at` is the event time at the end.
        """
        input_rows = [
            {"input": relation, "rows": [dict(row) for row in rows]} for relation, rows in inputs.items()
        ]
        body: dict[str, Any] = {"given": input_rows, "expect": [], "strict": False}
        body |= {key: value for key, value in (("at", at), ("now", now)) if value is not None}
        body |= {"vars": dict(vars)} if vars else {}
        body |= {"overrides": {"functions": dict(functions)}} if functions else {}
        location, chain = Location("", 1, 1), name.startswith("+")
        unit = UnitTest(f"run_model({name!r})", location, tested_model(name), body=body, chain=chain)
        verdict = self.session.judge(unit)
        if verdict.computed is None:
            raise MillstreamError(*verdict.diagnostics)
        columns, rows = verdict.computed.columns, verdict.computed.final
        return Rows(rows, lambda: self._frame(columns, rows))

    def _frame(self, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> DataFrame:
        from millstream.runner.samples.trial import columns_to_ddl, rows_to_frame

        values = [
            {column.name: arrow_value(row.get(column.name), column.type) for column in columns}
            for row in rows
        ]
        return rows_to_frame(self.session.spark(), values, columns_to_ddl(columns))


class ReadTopic(Struct, frozen=True):
    """Reads stored rows: `topic("processed_events")` returns the rows of a sink, a table or a source."""

    session: TestSession

    def __call__(self, name: str) -> Rows:
        from millstream.runner.samples.trial import table_to_frame

        self.session.needs_jars = True
        stored = self.session.stored.frame(parse_reference(name) or NodeId("model", name))
        if isinstance(stored, NotBuilt):
            pytest.skip(f"'{stored.name}' has not been built")
        table, schema = stored.toArrow(), stored.schema.toNullable()
        return Rows(table.to_pylist(), lambda: table_to_frame(stored.sparkSession, table, schema))
