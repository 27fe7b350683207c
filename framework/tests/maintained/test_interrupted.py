"""On Delta and Iceberg: however often storing is interrupted, before or after the commit, all tables end equal to their SQL."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.runs import job_of
from support.spark import SPARK_WARNINGS

from maintained.generator import Sequence
from maintained.harness import Maintained, changed
from maintained.killed import BASE, BATCHES, GROUPS, JOINED, PLACED, work_of
from millstream.engine.queries.tables import Tables
from millstream.stores.spark import TableBatch

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

STORES = ["delta", "iceberg"]


class KilledError(Exception):
    pass


class Stored:
    """The tables of a project in one store, and the rows that they should have."""

    def __init__(self, spark, root, store):
        self.spark = spark
        self.root = root
        tables = f", tables: {{store: {store}, iceberg_path: iceberg}}"
        self.expected = Maintained(spark, root, Sequence([BASE], [GROUPS, JOINED, PLACED]), tables)
        self.job = job_of(root)
        self.tables = Tables(spark, self.job.project, self.job.catalog)
        self.outputs = {table.model: table for query in self.job.physical.queries for table in query.tables}
        for table in self.outputs.values():
            assert self.tables.create(table, changes=True)

    def change(self, number):
        """Write a batch of changes to the base table."""
        rows = self.expected.rows["model.t0"]
        written = []
        for key, row in BATCHES[number]["t0"]:
            before, after = rows.pop((key,), None), None if row is None else (key, *row)
            if after is not None:
                rows[(key,)] = after
            written += [
                (*row, kind == "delete") for *row, kind in changed(before, after) if kind != "update_preimage"
            ]
        table = self.outputs["model.t0"]
        schema = ", ".join(f"{column.name} {column.type}" for column in table.columns) + ", _deleted boolean"
        frame = self.spark.createDataFrame(written, schema)
        self.tables.merge(frame, table, TableBatch("tests", number, deletes=True, new=False))

    def maintain(self, name, merge=None):
        work_of(self.job, self.tables, name, merge or self.tables.merge)(self.spark.newSession().range(0), 0)

    def check(self):
        for name in ("m0", "m1", "m2"):
            model = f"model.{name}"
            stored = (
                self.tables.rows(self.spark, self.outputs[model])
                .select(*self.expected.names[model])
                .collect()
            )
            self.expected.rows[model] = {index: tuple(row) for index, row in enumerate(stored)}
        self.expected.check()


@pytest.mark.parametrize("store", STORES)
def test_an_interruption_before_or_after_a_commit_changes_nothing(spark, tmp_path, store):
    stored, killed = Stored(spark, tmp_path, store), []

    def before(*_):
        killed.append("before")
        raise KilledError

    def after(*arguments):
        stored.tables.merge(*arguments)
        killed.append("after")
        raise KilledError

    for number in range(len(BATCHES)):
        stored.change(number)
        for name in ("m0", "m1", "m2"):
            for merge in (before, after):
                try:
                    stored.maintain(name, merge)
                except KilledError:
                    continue
                pytest.fail(f"{name} had nothing to store")
            stored.maintain(name)  # finds what is stored
        stored.check()
    assert len(killed) == 18


@pytest.mark.parametrize("moment", ["before", "during", "after"])
@pytest.mark.parametrize("store", STORES)
def test_a_process_that_is_killed_leaves_a_table_that_the_next_one_continues(spark, tmp_path, moment, store):
    stored = Stored(spark, tmp_path, store)
    for number in range(2):
        stored.change(number)
        if number:
            folder = Path(__file__).parents[1]
            killed = subprocess.run(
                [sys.executable, "-m", "maintained.killed", str(tmp_path), moment],
                cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, start_new_session=True, check=False,
                capture_output=True, text=True,
            )  # fmt: skip
            assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
        for name in ("m0", "m1", "m2"):
            stored.maintain(name)
    stored.check()
