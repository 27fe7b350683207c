"""What becomes of a published query as a table over tables: compiled, run step by step, and compared.

The judge is Spark's batch result of the query as it was published, over the same rows. The rows come in three steps:
the first half, of which two rows have each other's values; then the others, without one; then all.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.runs import job_of

from millstream.compile import compile_project
from millstream.core.expressions import quote_name
from millstream.deploy.values import Job
from millstream.engine.queries.counts import with_counts
from millstream.engine.queries.differences import STORED
from millstream.engine.queries.start import make_view
from millstream.plan.nodes.maintenance import (
    STORED_TOUCHED,
    TOUCHED,
    UNSURE,
    WEIGHT,
    Maintenance,
    touched_column,
    view_of,
)  # fmt: skip
from millstream.queries.values import PerBatch
from public.cases import Case, named, reads, with_refs, without_order
from public.rows import Rows, as_published, as_text, difference, key_of
from public.steps import base_key, rows_of, stepped, with_key

SLOW = 10.0
STEPS = 3
RETRIED = frozenset({"MS543", "MS546", "MS548", "MS694"})


@dataclass(frozen=True)
class Verdict:
    query: str
    result: str
    reason: str = ""
    seconds: float = 0.0
    sql: str = ""
    refresh: str = ""
    spark: str = ""
    """What Spark says of the query; empty if it runs it."""
    published: bool | None = None
    """Whether the rows are those published next to the query."""


class Judge:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root

    def verdicts(self, case: Case) -> list[Verdict]:
        """Judge the queries of a case. Its later queries read the earlier ones."""
        case = replace(case, tables=tuple(with_key(table, case.queries) for table in case.tables))
        try:
            for table in case.tables:
                for step in range(STEPS):
                    self._create(f"{table.name}__{step}", rows_of(table, step))
        except PySparkException as error:
            return [
                Verdict(f"{case.name}:{q.name}", "no data", first_line(error), sql=q.sql)
                for q in case.queries
            ]
        verdicts, models, readable = [], {}, {table.name for table in case.tables}
        for query in case.queries:
            sql = named(without_order(query.sql)) if query is not None else ""
            verdict, model = self._judge(case, query.name, sql, models, readable)
            verdicts.append(verdict)
            if model is None:
                break
            models[query.name] = model
            readable.add(query.name)
        return verdicts

    def _create(self, view: str, sql: str) -> None:
        self.spark.sql(f"create or replace temp view {view} as {sql}")

    def _store(self, view: str) -> None:
        """Compute a view once, if Python knows its types."""
        frame = self.spark.table(view)
        if not any(
            "interval" in kind or "void" in kind or "variant" in kind or "time(" in kind
            for _, kind in frame.dtypes
        ):
            self.spark.createDataFrame(frame.toArrow(), frame.schema).createOrReplaceTempView(view)

    def _judge(
        self, case: Case, name: str, sql: str, models: dict[str, str], readable: set[str]
    ) -> tuple[Verdict, str | None]:
        label = f"{case.name}:{name}"
        used = {table for _, table in reads(sql, readable)}
        steps = (
            range(STEPS)
            if any(len(t.rows) > 1 for t in case.tables if t.name in used) or used & models.keys()
            else [STEPS - 1]
        )
        spark, columns, expected = "", [], {}
        try:
            for step in range(STEPS):
                self._create(f"{name}__{step}", stepped(sql, readable, step))
            columns = [n for n, _ in self.spark.table(f"{name}__{STEPS - 1}").dtypes]
            for step in steps:
                self._store(f"{name}__{step}")
            expected = {step: self._rows(f"select * from {name}__{step}", len(columns)) for step in steps}
        except (AnalysisException, ParseException) as error:
            spark = f"analyzer: {first_line(error)}"
        except (PySparkException, Py4JJavaError) as error:
            spark = f"error: {first_line(error)}"
        keys = key_of(sql, columns, expected)
        for refresh in ("", "full"):
            config = f"{{{{ config(materialized='table', unique_key={keys}{', refresh=' + repr(refresh) if refresh else ''}) }}}}\n"
            model = config + with_refs(sql, readable)
            root = self._project(case, {**models, name: model})
            began = time.process_time()
            try:
                diagnostics = [
                    d for d in compile_project(root).diagnostics if d.severity == "error" or d.code == "MS414"
                ]
                job = None if diagnostics else job_of(root)
            except Exception as error:  # noqa: BLE001 -- what is judged may fail in any way
                return Verdict(
                    label, "internal error", f"{type(error).__name__}: {error}", sql=model, spark=spark
                ), None
            seconds = time.process_time() - began
            if not diagnostics or diagnostics[0].code not in RETRIED:
                break
        verdict = Verdict(label, "", seconds=seconds, sql=model, refresh=refresh, spark=spark)
        if seconds > SLOW:
            return _with(verdict, "slower than 10 s"), None
        if diagnostics:
            first = diagnostics[0]
            located = any(d.location is not None for d in diagnostics)
            result = "internal error" if first.code == "MS900" or not located else "refused"
            return _with(verdict, result, f"{first.code} {first.message} | {first.help or ''}"), None
        if spark:
            kind = "accepted, refused by Spark" if spark.startswith("analyzer") else "fails in Spark, too"
            return _with(verdict, kind, spark), None
        plan = next(
            (
                q.maintaining
                for q in job.physical.queries
                if q.maintaining and q.maintaining.target.model == f"model.{name}"
            ),
            None,
        )
        try:
            if plan is None:
                return self._row_by_row(verdict, name, job, steps[-1], expected[steps[-1]]), model
            return self._compare(verdict, case, name, plan, steps, expected), model
        except (PySparkException, Py4JJavaError) as error:
            return _with(verdict, "fails when it runs", first_line(error)), None

    def _compare(
        self,
        verdict: Verdict,
        case: Case,
        name: str,
        plan: Any,
        steps: Sequence[int],
        expected: dict[int, Rows],
    ) -> Verdict:
        maintenance: Maintenance = plan.maintenance
        names = [r.partition(".")[2] for r in maintenance.relations]
        width = len(plan.target.columns)
        items = ", ".join(
            f"cast({quote_name(c.name)} as {c.type}) as {quote_name(c.name)}" for c in plan.target.columns
        )
        last = steps[-1]
        self._views(names, last, last - 1)
        rows = self._rows(f"select {items} from ({maintenance.all_rows})", width)
        if rows != expected[last]:
            return _with(verdict, "wrong", f"in full, step {last}: {difference(rows, expected[last])}")
        ways = ["full"]
        for step in steps[1:] if maintenance.by else []:
            self._views(names, step, step - 1)
            self._create(STORED, f"select * from {name}__{step - 1}")
            sql, rest, way = self._restricted(maintenance)
            ways.append(way)
            rows = self._rows(f"select * from ({rest}) union all select {items} from ({sql})", width)
            if rows != expected[step]:
                return _with(verdict, "wrong", f"by keys, step {step}: {difference(rows, expected[step])}")
        is_published = case.queries[-1].name == name and case.expected is not None
        published = as_published(expected[last], case.expected) if is_published else None
        return Verdict(
            verdict.query,
            "right",
            ways[-1],
            verdict.seconds,
            verdict.sql,
            verdict.refresh,
            published=published,
        )

    def _row_by_row(self, verdict: Verdict, name: str, job: Job, step: int, expected: Rows) -> Verdict:
        """Compare what a query without state makes of the rows of all tables at a step."""
        model = f"model.{name}"
        query = next(
            q for q in job.physical.queries if any(getattr(o, "model", "") == model for o in q.outputs)
        )
        for source in query.sources:
            rows = f"select *, false as _deleted from {source.relation.partition('.')[2]}__{step}"
            self._create(source.view, rows)
        for view in query.steps:
            make_view(self.spark, view, job.project, query.output_mode)
        deliver = query.deliver
        assert isinstance(deliver, PerBatch)
        with_counts(self.spark.sql(query.sql), query).createOrReplaceTempView(deliver.view)
        delivery = next(d for d in deliver.deliveries if getattr(d.target, "model", "") == model)
        columns = [quote_name(c.name) for c in delivery.target.columns]
        text = f"select {', '.join(columns)} from ({delivery.sql}) where not _deleted"
        rows = self._rows(text, len(columns))
        if rows != expected:
            return _with(verdict, "wrong", f"row by row: {difference(rows, expected)}")
        return _with(verdict, "right", "row by row")

    def _restricted(self, maintenance: Maintenance) -> tuple[str, str, str]:
        """Return the SQL of the rows with touched keys, that of the other stored rows, and by what it is computed."""
        on = " and ".join(
            f"s.{quote_name(n)} <=> t.{touched_column(i)}" for i, n in enumerate(maintenance.by)
        )
        self._create(TOUCHED, maintenance.touching(maintenance.relations))
        self._create(STORED_TOUCHED, f"select * from {STORED} as s left semi join {TOUCHED} as t on {on}")
        rest = f"select * from {STORED} as s left anti join {TOUCHED} as t on {on}"
        if (
            maintenance.weighted
            and not self.spark.sql(f"select * from ({maintenance.weighted}) where {UNSURE}").collect()
        ):
            return f"select * from ({maintenance.weighted})", rest, "weights"
        return maintenance.restricted, rest, "keys"

    def _views(self, names: list[str], step: int, before: int) -> None:
        for index, name in enumerate(names):
            now, was = f"select * from {name}__{step}", f"select * from {name}__{max(before, 0)}"
            self._create(view_of("now", index), now)
            self._create(view_of("before", index), was)
            # Rows can have maps, which EXCEPT can't compare: all rows of both steps are taken as changed.
            gone, come = was, now
            self._create(
                view_of("changed", index), f"select * from ({gone}) union all select * from ({come})"
            )
            self._create(view_of("either", index), f"{now} union all select * from ({gone})")
            weighted = (
                f"select *, -1L as {WEIGHT} from ({gone}) union all select *, 1L as {WEIGHT} from ({come})"
            )
            self._create(view_of("weighted", index), weighted)

    def _rows(self, sql: str, width: int) -> Rows:
        frame: DataFrame = self.spark.sql(sql)
        texts = [as_text(f"v{i}", kind) for i, (_, kind) in enumerate(frame.dtypes)]
        return sorted(
            (tuple(r) for r in frame.toDF(*(f"v{i}" for i in range(width))).selectExpr(*texts).collect()),
            key=repr,
        )

    def _project(self, case: Case, models: dict[str, str]) -> Path:
        shutil.rmtree(self.root, ignore_errors=True)
        folder = self.root / "models"
        folder.mkdir(parents=True)
        (self.root / "pyproject.toml").write_text(
            '[project]\nname = "shop"\n[tool.millstream]\nname = "shop"\n'
        )
        (self.root / "profiles.yml").write_text(
            "shop: {target: local, outputs: {local: {master: 'local[2]', kafka: embedded}}}\n"
        )
        topics = []
        for table in case.tables:
            columns = [{"name": n, "type": t} for n, t in table.columns]
            topics.append({"name": f"e_{table.name}", "columns": columns})
            config = f"{{{{ config(materialized='table', unique_key={list(base_key(table))}) }}}}"
            items = ", ".join(quote_name(n) for n, _ in table.columns)
            (folder / f"{table.name}.sql").write_text(
                f"{config}\nselect {items} from {{{{ source('web', 'e_{table.name}') }}}}"
            )
        (folder / "sources.yml").write_text(
            msgspec.yaml.encode({"sources": [{"name": "web", "topics": topics}]}).decode()
        )
        for name, model in models.items():
            (folder / f"{name}.sql").write_text(model)
        return self.root


def _with(verdict: Verdict, result: str, reason: str = "") -> Verdict:
    return Verdict(
        verdict.query, result, reason, verdict.seconds, verdict.sql, verdict.refresh, verdict.spark
    )


def first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300]
