"""On Delta: however often storing is interrupted, before or after the commit, all tables end equal to their SQL."""

import pytest
from support.runs import job_of
from support.spark import SPARK_WARNINGS

from maintained.generator import Made, Sequence
from maintained.harness import Maintained, changed
from millstream.physical.values import PerBatch
from millstream.runner.queries.deliveries import Stores
from millstream.runner.queries.start import QueryContext, _maintained
from millstream.runner.queries.tables import Tables
from millstream.stores.spark import MAINTAINED, Batch

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

BASE = Made("t0", {"id": "n", "k": "t", "r": "n", "v": "n"}, ("id",))
GROUPS = Made(
    "m0", {"k": "t", "n": "n"}, ("k",), "select x.k, count(*) as n from {t0} as x group by x.k", reads=("t0",)
)
JOINED = Made(
    "m1",
    {"id": "n", "n": "n"},
    ("id",),
    "select x.id, y.n from {t0} as x left join {m0} as y on x.k = y.k",
    reads=("t0", "m0"),
)
PLACED = Made(
    "m2", {"id": "n", "p": "n"}, ("id",),
    "select x.id, row_number() over (partition by x.n order by x.id) as p from {m1} as x", full=True, reads=("m1",),
)  # fmt: skip
BATCHES = [
    {"t0": [(1, ("a", 0, 1)), (2, ("a", 1, 2)), (3, (None, 1, 2))]},
    {"t0": [(1, ("b", 0, 1)), (3, None), (4, ("a", 2, 2)), (5, (None, 2, 2))]},
    {"t0": [(2, None), (1, None), (6, ("b", 0, 0))]},
]


class KilledError(Exception):
    pass


def test_an_interruption_before_or_after_a_commit_changes_nothing(spark, tmp_path):
    sequence = Sequence([BASE], [GROUPS, JOINED, PLACED], BATCHES)
    expected = Maintained(spark, tmp_path, sequence)
    job = job_of(tmp_path)
    tables = Tables(spark, job.project, job.catalog)
    outputs = {table.model: table for query in job.physical.queries for table in query.tables}
    for table in outputs.values():
        assert tables.create(table, changes=True)
    queries = {f"model.{made.name}": _query(job, made.name) for made in sequence.made}
    killed = 0
    for number, batch in enumerate(BATCHES):
        before = dict(expected.rows["model.t0"])
        for key, row in batch["t0"]:
            expected.rows["model.t0"].pop((key,), None)
            if row is not None:
                expected.rows["model.t0"][(key,)] = (key, *row)
        _write(spark, tables, outputs["model.t0"], before, expected.rows["model.t0"], number)
        for model, query in queries.items():
            for moment in ("before", "after", "never"):
                tables_now = _Killing(tables.merge, moment)
                stores = Stores(MAINTAINED, {}, {}, tables_now.merge, frozenset())
                context = QueryContext(job.project, "", stores, {}, tables)
                assert isinstance(query.deliver, PerBatch)
                work = _maintained(query, query.maintaining, query.deliver, context)
                try:
                    work(spark.newSession().range(0), number)
                except KilledError:
                    killed += 1
            name = model.partition(".")[2]
            names = expected.names[model]
            found = tables.rows(spark, outputs[model]).select(*names).collect()
            expected.rows[model] = {index: tuple(row) for index, row in enumerate(found)}
            assert len(found) == len({*map(tuple, found)}), name
        expected.check()
    assert killed > 12


class _Killing:
    """Stores rows, and is interrupted before or after it."""

    def __init__(self, merge, moment):
        self.then, self.moment = merge, moment

    def merge(self, rows, table, batch):
        if self.moment == "before":
            raise KilledError
        self.then(rows, table, batch)
        if self.moment == "after":
            raise KilledError


def _query(job, name):
    return next(
        q for q in job.physical.queries if q.maintaining and q.maintaining.target.model == f"model.{name}"
    )


def _write(spark, tables, table, before, after, number):
    rows = []
    for key in {*before, *after}:
        for *row, kind in changed(before.get(key), after.get(key)):
            if kind != "update_preimage" and before.get(key) != after.get(key):
                rows.append((*row, kind == "delete"))
    schema = ", ".join(f"{column.name} {column.type}" for column in table.columns) + ", _deleted boolean"
    found = spark.createDataFrame(rows, schema)
    tables.merge(found, table, Batch("tests", number, deletes=True, new=False))
