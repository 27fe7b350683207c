"""What becomes of a published query as a table over tables: compiled, run step by step, and compared.

The judge is Spark's batch result of the query as it was published, over the same rows. The rows come in three steps:
the first half, of which two rows have each other's values; then the others, without one; then all.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.runs import job_of

from millstream.compile import compile_project
from millstream.plan.nodes.maintenance import (
    STORED_TOUCHED,
    TOUCHED,
    UNSURE,
    WEIGHT,
    Maintenance,
    touched_column,
    view_of,
)  # fmt: skip
from millstream.runner.queries.differences import STORED
from public.cases import Case, Query, Table, named, reads, with_refs, without_order

SLOW = 10.0
STEPS = 3
RETRIED = frozenset({"MS543", "MS546", "MS548", "MS694"})
Rows = list[tuple[str | None, ...]]


@dataclass(frozen=True)
class Verdict:
    query: str
    outcome: str
    reason: str = ""
    seconds: float = 0.0
    sql: str = ""
    refresh: str = ""
    spark: str = ""
    """What Spark says of the query; empty if it runs it."""
    published: bool | None = None
    """Whether the rows are those published next to the query."""


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class Judge:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = root

    def verdicts(self, case: Case) -> list[Verdict]:
        """Judge the queries of a case. Its later queries read the earlier ones."""
        case = replace(case, tables=tuple(with_key(table, case.queries) for table in case.tables))
        views = {table.name: table for table in case.tables}
        try:
            for table in case.tables:
                for step in range(STEPS):
                    self._create(f"{table.name}__{step}", rows_of(table, step))
        except PySparkException as error:
            return [
                Verdict(f"{case.name}:{q.name}", "no data", first_line(error), sql=q.sql)
                for q in case.queries
            ]
        found, models, known = [], {}, set(views)
        for query in case.queries:
            sql = named(without_order(query.sql)) if query is not None else ""
            verdict, model = self._judge(case, query.name, sql, models, known)
            found.append(verdict)
            if model is None:
                break
            models[query.name] = model
            known.add(query.name)
        return found

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
        self, case: Case, name: str, sql: str, models: dict[str, str], known: set[str]
    ) -> tuple[Verdict, str | None]:
        label = f"{case.name}:{name}"
        used = {table for _, table in reads(sql, known)}
        steps = (
            range(STEPS)
            if any(len(t.rows) > 1 for t in case.tables if t.name in used) or used & models.keys()
            else [STEPS - 1]
        )
        spark, columns, wanted = "", [], {}
        try:
            for step in range(STEPS):
                self._create(f"{name}__{step}", stepped(sql, known, step))
            columns = [n for n, _ in self.spark.table(f"{name}__{STEPS - 1}").dtypes]
            for step in steps:
                self._store(f"{name}__{step}")
            wanted = {step: self._rows(f"select * from {name}__{step}", len(columns)) for step in steps}
        except (AnalysisException, ParseException) as error:
            spark = f"analyzer: {first_line(error)}"
        except (PySparkException, Py4JJavaError) as error:
            spark = f"error: {first_line(error)}"
        keys = key_of(sql, columns, wanted)
        for refresh in ("", "full"):
            config = f"{{{{ config(materialized='table', unique_key={keys}{', refresh=' + repr(refresh) if refresh else ''}) }}}}\n"
            model = config + with_refs(sql, known)
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
            outcome = "internal error" if first.code == "MS900" or not located else "refused"
            return _with(verdict, outcome, f"{first.code} {first.message} | {first.help or ''}"), None
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
        if plan is None:
            return _with(verdict, "row by row"), model
        try:
            return self._compare(verdict, case, name, plan, list(steps), wanted), model
        except (PySparkException, Py4JJavaError) as error:
            return _with(verdict, "fails when it runs", first_line(error)), None

    def _compare(
        self, verdict: Verdict, case: Case, name: str, plan: Any, steps: list[int], wanted: dict[int, Rows]
    ) -> Verdict:
        maintenance: Maintenance = plan.maintenance
        names = [r.partition(".")[2] for r in maintenance.relations]
        width = len(plan.target.columns)
        items = ", ".join(
            f"cast({quoted(c.name)} as {c.type}) as {quoted(c.name)}" for c in plan.target.columns
        )
        for step in steps[-1:]:
            self._views(names, step, step - 1)
            rows = self._rows(f"select {items} from ({maintenance.whole})", width)
            if rows != wanted[step]:
                return _with(verdict, "wrong", f"in full, step {step}: {difference(rows, wanted[step])}")
        ways = ["full"]
        for step in steps[1:] if maintenance.by else []:
            self._views(names, step, step - 1)
            self._create(STORED, f"select * from {name}__{step - 1}")
            sql, way = self._restricted(maintenance)
            ways.append(way)
            self._create(TOUCHED, maintenance.touching(maintenance.relations))
            on = " and ".join(
                f"s.{quoted(n)} <=> t.{touched_column(i)}" for i, n in enumerate(maintenance.by)
            )
            rest = f"select * from {STORED} as s left anti join {TOUCHED} as t on {on}"
            rows = self._rows(f"select * from ({rest}) union all select {items} from ({sql})", width)
            if rows != wanted[step]:
                return _with(verdict, "wrong", f"by keys, step {step}: {difference(rows, wanted[step])}")
        last = case.queries[-1].name == name and case.expected is not None
        published = None if not last else as_published(wanted[steps[-1]], case.expected)
        return Verdict(
            verdict.query,
            "right",
            ways[-1],
            verdict.seconds,
            verdict.sql,
            verdict.refresh,
            published=published,
        )

    def _restricted(self, maintenance: Maintenance) -> tuple[str, str]:
        on = " and ".join(f"s.{quoted(n)} <=> t.{touched_column(i)}" for i, n in enumerate(maintenance.by))
        self._create(TOUCHED, maintenance.touching(maintenance.relations))
        self._create(STORED_TOUCHED, f"select * from {STORED} as s left semi join {TOUCHED} as t on {on}")
        if (
            maintenance.weighted
            and not self.spark.sql(f"select * from ({maintenance.weighted}) where {UNSURE}").collect()
        ):
            return f"select * from ({maintenance.weighted})", "weights"
        return maintenance.restricted, "keys"

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
        texts = [_as_text(f"v{i}", kind) for i, (_, kind) in enumerate(frame.dtypes)]
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
            items = ", ".join(quoted(n) for n, _ in table.columns)
            (folder / f"{table.name}.sql").write_text(
                f"{config}\nselect {items} from {{{{ source('web', 'e_{table.name}') }}}}"
            )
        (folder / "sources.yml").write_text(
            msgspec.yaml.encode({"sources": [{"name": "web", "topics": topics}]}).decode()
        )
        for name, model in models.items():
            (folder / f"{name}.sql").write_text(model)
        return self.root


def _as_text(name: str, kind: str) -> str:
    """Return SQL for a value as a text; percentile_approx gives decimals with fewer digits than their type."""
    if kind == "binary":
        return f"hex({name})"
    text = f"cast({name} as string)"
    return f"cast(cast({text} as {kind}) as string)" if kind.startswith("decimal") else text


def _with(verdict: Verdict, outcome: str, reason: str = "") -> Verdict:
    return Verdict(
        verdict.query, outcome, reason, verdict.seconds, verdict.sql, verdict.refresh, verdict.spark
    )


def base_key(table: Table) -> tuple[str, ...]:
    """Return the first columns that tell rows apart; all columns if none do."""
    names = [n for n, _ in table.columns]
    if names[-1] == f"{table.name}_n":
        return (names[-1],)
    for width in range(1, len(names)):
        if len({row[:width] for row in table.rows}) == len(table.rows):
            return tuple(names[:width])
    return tuple(names)


def with_key(table: Table, queries: tuple[Query, ...]) -> Table:
    """Add a column that tells equal rows apart, unless a query would show it."""
    stars = any("*" in q.sql.replace("(*)", "") or "natural" in q.sql.lower() for q in queries)
    if stars or len(set(table.rows)) == len(table.rows):
        return table
    rows = tuple((*row, str(number)) for number, row in enumerate(table.rows))
    return replace(table, columns=(*table.columns, (f"{table.name}_n", "int")), rows=rows)


def rows_of(table: Table, step: int) -> str:
    """Return SQL for the rows of a table at a step."""
    rows = list(dict.fromkeys(table.rows))
    width = len(base_key(table))
    if step == 0:
        rows = rows[: max(1, len(rows) // 2)] if len(rows) > 1 else []
        if len(rows) > 1:
            rows[0], rows[1] = rows[0][:width] + rows[1][width:], rows[1][:width] + rows[0][width:]
    elif step == 1 and len(rows) > 1:
        rows = rows[:-2] + rows[-1:]
    names = [n for n, _ in table.columns]
    casts = ", ".join(f"cast(col{i + 1} as {t}) as {quoted(n)}" for i, (n, t) in enumerate(table.columns))
    if not rows:
        nulls = ", ".join(f"cast(null as {t}) as {quoted(n)}" for n, t in table.columns)
        return f"select {nulls} where false"
    assert all(len(row) == len(names) for row in rows)
    return f"select {casts} from values " + ", ".join(f"({', '.join(row)})" for row in rows)


def stepped(sql: str, names: set[str], step: int) -> str:
    """Let a query read the tables as they are at a step."""
    from public.cases import replaced

    changes = []
    for token, name in reads(sql, names):
        following = sql[token.end + 1 :].lstrip()
        changes.append(
            (token.start, token.end + 1, f"{name}__{step}{'' if _aliased(following) else f' as {name}'}")
        )
    return replaced(sql, changes)


_CLAUSES = frozenset(
    [
        "where",
        "group",
        "having",
        "order",
        "limit",
        "join",
        "left",
        "right",
        "inner",
        "full",
        "cross",
        "natural",
        "on",
        "using",
        "union",
        "except",
        "intersect",
        "minus",
        "lateral",
        "qualify",
        "window",
        "pivot",
        "unpivot",
        "tablesample",
        "sort",
        "cluster",
        "distribute",
        "semi",
        "anti",
        "offset",
    ]
)


def _aliased(following: str) -> bool:
    import re

    word = re.match(r"[`\w]+", following)
    return bool(word) and word[0].lower() not in _CLAUSES


def key_of(sql: str, columns: list[str], wanted: dict[int, Rows]) -> list[str]:
    """Return the fewest columns that tell the rows apart in all steps, preferring those that aren't computed."""
    if not columns:
        return ["c1"]
    low = [c.lower() for c in columns]
    if len(set(low)) < len(low):
        return low[:1]
    order = sorted(range(len(low)), key=lambda i: low[i] not in sql.lower().rpartition("group by")[2])
    for width in range(1, min(4, len(low)) + 1):
        for positions in combinations(order, width):
            if all(
                len({tuple(r[p] for p in positions) for r in rows}) == len(rows) for rows in wanted.values()
            ):
                return [low[p] for p in sorted(positions)]
    return low


def difference(rows: Rows, wanted: Rows) -> str:
    more = [r for r in rows if r not in wanted][:2]
    less = [r for r in wanted if r not in rows][:2]
    return f"{len(rows)} rows instead of {len(wanted)}; not wanted: {more}; missing: {less}"


def first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300]


def as_published(rows: Rows, lines: tuple[str, ...]) -> bool | None:
    """Tell whether rows are those published; None if these hold values of Python."""
    if any(word in line for line in lines for word in ("Row(", "datetime.", "Decimal(", "bytearray")):
        return None
    texts = ["\t".join("None" if v is None else v.replace(" -> ", ": ") for v in row) for row in rows]
    return sorted(map(normal, texts)) == sorted(map(normal, lines))


def normal(line: str) -> str:
    values = []
    for value in line.replace("'", "").split("\t"):
        text = value.strip()
        try:
            text = f"{float(text):.6g}"
        except ValueError:
            text = {"true": "True", "false": "False", "null": "None"}.get(text, text)
        values.append(text)
    return "\t".join(values).strip()
