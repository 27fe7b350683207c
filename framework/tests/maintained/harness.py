"""Maintains the tables of a random project in memory, with the SQL and the comparison that a run uses."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import cache

import duckdb
import sqlglot
from support.runs import job_of

from millstream.compile import compile_project
from millstream.engine.queries.differences import NEW, STORED, differences_sql
from millstream.engine.queries.maintained import create_views, open_differences
from millstream.plan.nodes.maintenance import STORED_TOUCHED, TOUCHED, UNSURE, WEIGHT, touched_column, view_of
from millstream.runner.samples.trial import columns_to_ddl

SOURCES = """
sources:
  - name: web
    topics:
"""
TOPIC = """
      - name: e{number}
        columns: [{columns}]
"""
TYPES = {"n": "bigint", "t": "string"}


class Maintained:
    """The tables of a project, each brought up to date after every batch, and an oracle that starts from nothing."""

    some = " having count(*) > 0"
    """For the oracle: over no rows, Spark gives no total of `rollup`, unlike DuckDB and standard SQL."""

    def __init__(self, spark, root, sequence, tables=""):
        self.spark = spark
        self.sequence = sequence
        self.root = root
        (root / "models").mkdir(parents=True, exist_ok=True)
        (root / "pyproject.toml").write_text('[project]\nname = "shop"\n[tool.millstream]\nname = "shop"\n')
        (root / "profiles.yml").write_text(
            f"shop: {{target: local, outputs: {{local: {{master: 'local[2]', kafka: embedded{tables}}}}}}}\n"
        )
        topics = "".join(
            TOPIC.format(
                number=number, columns=", ".join(f"{{name: {n}, type: '{t}'}}" for n, t in typed(table))
            )
            for number, table in enumerate(sequence.base)
        )
        (root / "models/sources.yml").write_text(SOURCES + topics.strip("\n") + "\n")
        for number, table in enumerate(sequence.base):
            config = f"{{{{ config(materialized='table', {self.options(table)}) }}}}"
            sql = f"{config} select {', '.join(table.columns)} from {{{{ source('web', 'e{number}') }}}}"
            (root / f"models/{table.name}.sql").write_text(sql)
        self._write()
        # Of a model that reads a refused one, it is not known yet.
        while refused := {e.location.path for e in compile_project(root).diagnostics if e.code == "MS543"}:
            sequence.models[:] = [
                replace(table, full=table.full or f"models/{table.name}.sql" in refused)
                for table in sequence.models
            ]
            self._write()
        queries = job_of(root).physical.queries
        self.plans = {q.maintaining.target.model: q.maintaining for q in queries if q.maintaining is not None}
        columns = {t.model: t.columns for q in queries for t in q.tables}
        self.columns = {model: columns_to_ddl(columns[model]) for model in columns}
        self.names = {model: [c.name for c in columns[model]] for model in columns}
        self.rows = {model: {} for model in columns}
        """By model and key, the rows."""
        self.computed = set()
        self.oracle = in_memory()

    def options(self, table):
        """Return the options of a base table."""
        return f"unique_key={list(table.keys)}{table.options}"

    def _write(self):
        for table in self.sequence.models:
            (self.root / f"models/{table.name}.sql").write_text(table.model())

    def of(self, name):
        """Return another one with only one of the tables, and without rows."""
        table = next(table for table in self.sequence.models if table.name == name)
        other = copy(self)
        other.sequence = replace(self.sequence, models=[table])
        other.rows = {model: {} for model in self.rows}
        other.computed = set()
        return other

    def apply(self, batch):
        changes = {}
        for name, rows in batch.items():
            model, feed = f"model.{name}", []
            stored_rows = self.rows[model]
            for written, row in rows:
                key = written if isinstance(written, tuple) else (written,)
                before = stored_rows.pop(key, None)
                after = None if row is None else (*key, *row)
                if after is not None:
                    stored_rows[key] = after
                feed += changed(before, after)
            changes[model] = feed
        for table in self.sequence.models:
            self._maintain(table, changes)

    def _maintain(self, table, changes):
        model = f"model.{table.name}"
        plan = self.plans.get(model)
        assert plan is not None, f"{table.name} is not maintained: {table.for_spark()}"
        assert bool(plan.maintenance.by) != table.full
        inputs = {relation for relation in plan.maintenance.relations if changes.get(relation)}
        if model in self.computed and not inputs:
            return
        feed = []
        rows = self.differences(plan, inputs if model in self.computed else None, changes)
        self.computed.add(model)
        stored_rows = self.rows[model]
        positions = [self.names[model].index(key) for key in table.keys]
        for *row, deleted in map(tuple, rows):
            key = tuple(row[position] for position in positions)
            before = stored_rows.pop(key, None)
            after = None if deleted else tuple(row)
            assert before != after, f"{table.name}: {row} is no difference"
            if after is not None:
                stored_rows[key] = after
            feed += changed(before, after)
        changes[model] = feed

    def differences(self, plan, changed_inputs, changes):
        """Return the rows to store, with `_deleted` as their last column."""
        for index, relation in enumerate(plan.maintenance.relations):
            now = self._frame(self.rows[relation].values(), self.columns[relation])
            now.createOrReplaceTempView(view_of("now", index))
            feed = changes.get(relation)
            earlier = as_before(self.rows[relation].values(), feed or [])
            self._frame(earlier, self.columns[relation]).createOrReplaceTempView(view_of("before", index))
            create_views(
                self.spark,
                index,
                self._frame(feed, f"{self.columns[relation]}, _change_type string") if feed else None,
            )
        model = plan.target.model
        self._frame(self.rows[model].values(), self.columns[model]).createOrReplaceTempView(STORED)
        with open_differences(self.spark, plan, changed_inputs) as difference:
            return difference.rows.collect()

    def _frame(self, rows, columns):
        return self.spark.createDataFrame(list(rows), columns)

    def check(self):
        """Compare all tables with DuckDB's answer over the base tables."""
        for table in self.sequence.base:
            columns = ", ".join(f"{name} {kind}" for name, kind in typed(table))
            self.oracle.execute(f"create or replace table {table.name} ({columns})")
            insert(self.oracle, table.name, self.rows[f"model.{table.name}"].values())
        for table in self.sequence.models:
            self.oracle.execute(f"create or replace table {table.name} as {table.for_duckdb(self.some)}")
            names = ", ".join(self.names[f"model.{table.name}"])
            expected = self.oracle.execute(f"select {names} from {table.name}").fetchall()
            stored = list(self.rows[f"model.{table.name}"].values())
            assert ordered(stored) == ordered(expected), f"{table.name}: {table.for_spark()}"


class InDuckDB(Maintained):
    """Runs the same statements in DuckDB, translated, which takes a hundredth of the time."""

    some = ""

    def __init__(self, root, sequence):
        super().__init__(None, root, sequence)
        self.duckdb = in_memory()
        self.weighted = []
        """Whether the touched rows came from weights, for each change of a table that has them."""

    def of(self, name):
        other = super().of(name)
        other.weighted = []
        return other

    def differences(self, plan, changed_inputs, changes):
        for index, relation in enumerate(plan.maintenance.relations):
            now, feed = self.rows[relation].values(), changes.get(relation, [])
            self._table(view_of("now", index), relation, now)
            self._table(view_of("changed", index), relation, [row[:-1] for row in feed])
            self._table(view_of("before", index), relation, as_before(now, feed))
            before = [row[:-1] for row in feed if row[-1] in {"update_preimage", "delete"}]
            self._table(view_of("either", index), relation, [*now, *before])
            weighted = [(*row[:-1], -1 if row[-1] in {"update_preimage", "delete"} else 1) for row in feed]
            self._table(view_of("weighted", index), relation, weighted, f", {WEIGHT} bigint")
        model, maintenance = plan.target.model, plan.maintenance
        self._table(STORED, model, self.rows[model].values())
        stored_sql, sql = f"select * from {STORED}", maintenance.all_rows
        touching = maintenance.touching(changed_inputs or ())
        if touching:
            self._create(TOUCHED, touching)
            sql = maintenance.restricted
            on = " and ".join(
                f"s.{name} <=> t.{touched_column(index)}" for index, name in enumerate(maintenance.by)
            )
            stored_sql += f" as s left semi join {TOUCHED} as t on {on}"
        self._create(STORED_TOUCHED, stored_sql)
        if touching and maintenance.weighted:
            self._create("_weighted", maintenance.weighted)
            unsure = self._run(f"select count(*) from _weighted where {UNSURE}").fetchone()[0]
            self.weighted.append(not unsure)
            sql = maintenance.restricted if unsure else "select * from _weighted"
        names = ", ".join(self.names[model])
        self._create(NEW, f"select {names} from ({sql})")
        rows = self._run(differences_sql(plan.target)).fetchall()
        assert all(row[-2] in {None, 1} for row in rows), "two rows with the same key"
        return [row[:-2] for row in rows]

    def _table(self, name, relation, rows, more=""):
        self._run(f"create or replace table {name} ({self.columns[relation]}{more})")
        insert(self.duckdb, name, rows)

    def _create(self, name, sql):
        self._run(f"create or replace table {name} as {sql}")

    def _run(self, sql):
        return self.duckdb.execute(translated(sql))


def in_memory():
    """Return a database that uses one thread, as more cost time with few rows, and shows times in UTC."""
    database = duckdb.connect(config={"threads": 1})
    database.execute("set timezone = 'UTC'")
    return database


def insert(database, name, rows):
    if rows:
        marks = f"({', '.join('?' for _ in next(iter(rows)))})"
        values = [value for row in rows for value in row]
        database.execute(f"insert into {name} values {', '.join([marks] * len(rows))}", values)


def typed(base):
    """Return the columns of a base table with their types."""
    return [(name, TYPES.get(kind, kind)) for name, kind in base.columns.items()]


@cache
def translated(sql):
    (duckdb_sql,) = sqlglot.transpile(sql, read="spark", write="duckdb")
    return duckdb_sql


def changed(before, after):
    if before is None and after is None:
        return []
    if before is None:
        return [(*after, "insert")]
    if after is None:
        return [(*before, "delete")]
    return [(*before, "update_preimage"), (*after, "update_postimage")]


def as_before(rows, feed):
    """Return rows without the changes that were made to them."""
    earlier = list(rows)
    for *row, kind in reversed(feed):
        if kind in {"insert", "update_postimage"}:
            earlier.remove(tuple(row))
        else:
            earlier.append(tuple(row))
    return earlier


def ordered(rows):
    return sorted((tuple(map(_value, row)) for row in rows), key=repr)


def _value(value):
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return (
        None
        if isinstance(value, float) and math.isnan(value)
        else round(float(value), 6)
        if isinstance(value, int | float | Decimal)
        else value
    )
