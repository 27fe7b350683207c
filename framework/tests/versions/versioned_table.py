"""A table that keeps versions in a store; as a program, it stores a batch and kills itself and its JVM meanwhile."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

from support.stored_tables import Store, minute

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark
from millstream.plan.nodes import Column
from millstream.project.values import Target
from millstream.queries.values import RowVersions, TableOutput
from millstream.stores.delta.spark import DeltaTables
from millstream.stores.spark import TableBatch

COLUMNS = {
    "user": "string",
    "at": "timestamp",
    "value": "bigint",
    "valid_from": "timestamp",
    "valid_to": "timestamp",
}
KEYS = ("user", "valid_from")


class Versioned:
    """A table that keeps versions for ten minutes."""

    def __init__(self, store, name="latest"):
        columns = tuple(Column(name, parse_type(kind)) for name, kind in COLUMNS.items())
        self.store = store
        store.table = TableOutput(
            NodeId("model", name), KEYS, columns, versions=RowVersions(("user",), "10 minutes")
        )
        self.new = store.tables.create(store.table, changes=False)

    def batch(self, number, rows):
        batch = TableBatch("latest/1", number, deletes=True, new=self.new and not number)
        batch_rows = [
            (key, minute(time), value, minute(time), None, value is None) for key, time, value in rows
        ]
        self.store.merge(self.store.table, batch_rows, batch)

    def rows(self):
        """Return the versions, with their times in minutes."""

        def number(time):
            return None if time is None else (time - round(minute(0).timestamp() * 1_000_000)) // 60_000_000

        frame = self.store.tables.rows(self.store.spark, self.store.table)
        rows = frame.selectExpr("user", "value", "unix_micros(valid_from)", "unix_micros(valid_to)").collect()
        return sorted(
            ((key, value, number(begins), number(ends)) for key, value, begins, ends in rows), key=repr
        )


BATCHES = [
    [("a", 0, 1), ("a", 5, 2), ("b", 3, None)],
    [("a", 2, 3), ("b", 1, 1), ("a", 5, 4)],
    [("a", 14, None), ("c", 9, 1)],
    [("a", 11, 5), ("c", 30, None), ("b", 2, 2)],
]
DELTA = {"store": "delta", "path": "tables"}


def main(root: str, moment: str, number: int) -> None:
    merge = DeltaTables.merge

    def killed(self, *arguments):
        if moment == "before":
            die()
        if moment == "during":
            threading.Timer(0.5, die).start()
        merge(self, *arguments)
        die()

    DeltaTables.merge = killed
    target = Target("tests", "local", {"master": "local[2]"})
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark("tests", target, jars_for(target), Path(folder), None)
        Versioned(Store(spark, Path(root), DELTA)).batch(number, BATCHES[number])


def die() -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
