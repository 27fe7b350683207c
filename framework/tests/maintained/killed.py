"""A project; as a program, it maintains one of its tables and kills itself and its JVM meanwhile."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

from support.runs import job_of

from maintained.generator import TableModel
from millstream.engine.queries.deliveries import BatchWriter
from millstream.engine.queries.start import QueryContext, incremental_table
from millstream.engine.queries.tables import Tables
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark
from millstream.stores.spark import MAINTAINED

BASE = TableModel("t0", {"id": "n", "k": "t", "r": "n", "v": "n"}, ("id",))
GROUPS = TableModel(
    "m0", {"k": "t", "n": "n"}, ("k",), "select x.k, count(*) as n from {t0} as x group by x.k", reads=("t0",)
)
JOINED = TableModel(
    "m1", {"id": "n", "n": "n"}, ("id",), "select x.id, y.n from {t0} as x left join {m0} as y on x.k = y.k",
    reads=("t0", "m0"),
)  # fmt: skip
PLACED = TableModel(
    "m2", {"id": "n", "p": "n"}, ("id",),
    "select x.id, row_number() over (partition by x.n order by x.id) as p from {m1} as x", full=True, reads=("m1",),
)  # fmt: skip
BATCHES = [
    {"t0": [(1, ("a", 0, 1)), (2, ("a", 1, 2)), (3, (None, 1, 2))]},
    {"t0": [(1, ("b", 0, 1)), (3, None), (4, ("a", 2, 2)), (5, (None, 2, 2)), (7, ("c", 0, 0))]},
    {"t0": [(2, None), (1, None), (6, ("b", 0, 0))]},
]


def work_of(job, tables, name, merge):
    """Return what a batch of the query of a maintained table does; `merge` stores its rows."""
    queries = (query for query in job.physical.queries if query.maintaining)
    query = next(query for query in queries if query.maintaining.target.model == f"model.{name}")
    context = QueryContext(job.project, "", BatchWriter(MAINTAINED, {}, merge), {}, tables)
    return incremental_table(query, context).each_batch


def main(root: str, moment: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        job = job_of(Path(root))
        target = job.project.target
        spark = start_spark("tests", target, jars_for(target), Path(folder), None)
        tables = Tables(spark, job.project, job.catalog)

        def merge(*arguments):
            if moment == "during":
                threading.Timer(1.0, die).start()
            elif moment == "before":
                die()
            tables.merge(*arguments)
            die()

        work_of(job, tables, "m0", merge)(spark.newSession().range(0), 0)


def die() -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
