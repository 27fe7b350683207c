"""Random tables over tables of all stores and both kinds equal DuckDB's answer, whatever happens between.

The base tables and those over them are in Delta or Iceberg, base tables have a key or are append-only, and batches are
interrupted before and after they are stored. Base tables are rebuilt, and versions that a reader still needs expire.
"""

import random
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from msgspec.structs import replace as with_values
from support.long import MAINTAINED, MAINTAINED_FIRST
from support.runs import job_of
from support.spark import SPARK_WARNINGS

from maintained.advanced import FORMS
from maintained.generator import sequences
from maintained.harness import Maintained
from maintained.killed import work_of
from millstream.engine.queries import maintained
from millstream.engine.queries.tables import PENDING_SUFFIX, Tables
from millstream.stores.file_sizes import EVERY
from millstream.stores.spark import TableBatch

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

STORES = ["delta", "iceberg"]
TABLES = ", tables: {iceberg_path: iceberg, old_snapshots: 0 hours, old_files: 0 hours}"
START = datetime(2026, 1, 1, tzinfo=timezone.utc).replace(tzinfo=None)  # as Spark returns it


class KilledError(Exception):
    pass


class InStores(Maintained):
    """The tables of a project in stores; what maintains them is what a run executes."""

    def __init__(self, spark, root, sequence, dice):
        self.dice = dice
        names = [table.name for table in (*sequence.base, *sequence.models)]
        self.stores = {name: dice.choice(STORES) for name in names}
        self.appended = {table.name for table in sequence.base if dice.random() < 0.5}
        sequence.base[:] = [
            replace(table, columns=table.columns | {"came": "timestamp", "gone": "boolean"})
            for table in sequence.base
        ]
        super().__init__(spark, root, sequence, TABLES)
        self.job = job_of(root)
        self.delta_and_iceberg = Tables(spark, self.job.project, self.job.catalog)
        self.outputs = {table.model: table for query in self.job.physical.queries for table in query.tables}
        for table in self.outputs.values():
            assert self.delta_and_iceberg.create(table, changes=True)
        self.number = 0
        self.interrupted = self.rebuilt = 0

    def options(self, table):
        key = "delete_by='id'" if table.name in self.appended else "unique_key='id'"
        return f"{key}, order_by='came', delete_when='gone', store='{self.stores[table.name]}'"

    def _write(self):
        for table in self.sequence.models:
            refresh = "full" if table.full else "keys" if table.by_keys else "incremental"
            options = f"unique_key={list(table.keys)}, refresh='{refresh}', store='{self.stores[table.name]}'"
            text = f"{{{{ config(materialized='table', {options}) }}}}\n{table.for_spark()}"
            (self.root / f"models/{table.name}.sql").write_text(text)

    def apply(self, batch):
        for name, changes in batch.items():
            self._change(name, changes)
            if self.dice.random() < 0.2:
                self._rebuild(name)
        for table in self.sequence.models:
            chance = self.dice.random()
            if chance < 0.3:
                continue  # it is behind, maybe until versions that it needs have expired
            if chance < 0.6:
                self._interrupt(table.name)
            self._bring(table.name)

    def check(self):
        for table in self.sequence.models:
            self._bring(table.name)
        for model, output in self.outputs.items():
            stored = self.delta_and_iceberg.rows(self.spark, output).select(*self.names[model]).collect()
            rows = sorted((tuple(row) for row in stored), key=repr)
            if any(model == f"model.{table.name}" for table in self.sequence.base):
                assert rows == sorted(self.rows[model].values(), key=repr), model
            else:
                self.rows[model] = dict(enumerate(rows))
        super().check()

    def _change(self, name, changes):
        model, written = f"model.{name}", []
        # Each step removes old versions, and combines files, or no step does.
        self.number += EVERY - self.number % EVERY if self.dice.random() < 0.4 else 1
        requested = START + timedelta(minutes=self.number)
        written_at = requested + timedelta(seconds=1)
        for key, row in changes:
            replaced = self.rows[model].pop((key,), None)
            if row is None or (replaced is not None and name in self.appended):
                written.append((key, None, None, None, requested, True, True))
            if row is not None:
                self.rows[model][key,] = (key, *row, written_at, False)
                written.append((key, *row, written_at, False, False))
        self._merge(self.outputs[model], written)

    def _merge(self, output, written):
        frame = self._frame(written, f"{self.columns['model.t0']}, _deleted boolean")
        batch = TableBatch("tests", self.number, deletes=True, new=False)
        self.delta_and_iceberg.merge(frame, output, batch)

    def _rebuild(self, name):
        """Replace the rows by others, of which most are the same."""
        model = f"model.{name}"
        output = self.outputs[model]
        new = with_values(output, model=output.model.with_ending(PENDING_SUFFIX))
        rows = self.rows[model]
        if rows and self.dice.random() < 0.7:
            key = self.dice.choice(sorted(rows))
            rows[key] = (*key, "b", 1, 2, *rows[key][4:])
        self.delta_and_iceberg.create(new, changes=False)
        self._merge(new, [(*row, False) for row in rows.values()])
        self.delta_and_iceberg.swap(new, output, f"swap {self.number}", changes=True)
        self.delta_and_iceberg.drop(new)
        self.rebuilt += 1

    def _bring(self, name, merge=None):
        merge = merge or self.delta_and_iceberg.merge
        work_of(self.job, self.delta_and_iceberg, name, merge)(self.spark.newSession().range(0), 0)

    def _interrupt(self, name):
        stored = self.dice.random() < 0.5

        def merge(*arguments):
            if stored:
                self.delta_and_iceberg.merge(*arguments)
            self.interrupted += 1
            raise KilledError

        with suppress(KilledError):
            self._bring(name, merge)


def test_random_tables_over_tables_in_stores_equal_their_sql(spark, tmp_path_factory, monkeypatch):
    dice, interrupted, rebuilt = random.Random(MAINTAINED_FIRST), [], []
    can_follow, followed = maintained._can_follow, []

    def noted(*arguments):
        followed.append(can_follow(*arguments))
        return followed[-1]

    monkeypatch.setattr(maintained, "_can_follow", noted)

    @seed(MAINTAINED_FIRST)
    @settings(
        max_examples=max(2, MAINTAINED // 10),
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences(FORMS))
    def check(sequence):
        tables = InStores(spark, tmp_path_factory.mktemp("project"), sequence, dice)
        for batch in sequence.batches:
            tables.apply(batch)
            if dice.random() < 0.5:
                tables.check()
        tables.check()
        interrupted.append(tables.interrupted)
        rebuilt.append(tables.rebuilt)

    check()
    assert sum(interrupted) > 0
    assert sum(rebuilt) > 0
    assert set(followed) == {True, False}, "some needed versions that were gone, and were computed in full"
