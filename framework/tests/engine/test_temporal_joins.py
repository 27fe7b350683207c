"""Joins of a stream with versions as of its event time: the step on Spark, compared with all records in DuckDB."""

import os
from datetime import datetime, timedelta, timezone
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from support.long import BUILDS
from support.micro_batches import streamed
from support.spark import SPARK_WARNINGS

from millstream.engine.queries import temporal
from millstream.engine.queries.temporal import joined_as_of
from millstream.queries.emit.steps import TemporalView

pytestmark = SPARK_WARNINGS

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
COLUMNS = {
    "orders": "k string, n bigint, at timestamp",
    "prices": "id string, price bigint, valid_from timestamp, _deleted boolean, _partition int, _offset bigint",
}
DELAY = 10
"""Seconds by which both sides can be late."""


def view(*, wait=0, keep=3600, outer=True):
    return TemporalView(
        "joined", "events", "prices", (("k", "id"),), "at", "valid_from", wait * 1000,
        None if keep is None else keep * 1000,
        (("k", "k"), ("n", "n"), ("at", "at")), (("price", "price"),), outer,
    )  # fmt: skip


def time(seconds):
    return None if seconds is None else START + timedelta(seconds=seconds)


class Stream:
    """The join over files, of which each is a micro-batch of both sides."""

    def __init__(self, spark, folder, step, delay=DELAY):
        self.session = spark.newSession()
        for name, value in QUICK.items():
            self.session.conf.set(name, value)
        self.folder, self.step, self.delay = folder, step, delay
        self.files = 0
        self.offset = 0
        self.batches = []
        self.late = 0

    def add(self, orders=(), prices=()):
        rows = {
            "orders": [{"k": k, "n": n, "at": time(moment)} for k, n, moment in orders],
            "prices": [
                {"id": k, "price": price, "valid_from": time(moment), "_deleted": price is None, "_partition": 0, "_offset": self.offset + i}
                for i, (k, price, moment) in enumerate(prices)
            ],
        }  # fmt: skip
        self.offset += len(rows["prices"])
        for name, columns in COLUMNS.items():
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            file = folder / f"{self.files:06}.parquet"
            schema = to_arrow_schema(StructType.fromDDL(columns), timezone="UTC")
            pq.write_table(pa.Table.from_pylist(rows[name], schema=schema), file)
            os.utime(file, (10**9 + self.files, 10**9 + self.files))
        self.files += 1

    def run(self):
        """Continue from the checkpoint with the files that were added."""
        for name, columns in COLUMNS.items():
            reader = self.session.readStream.schema(columns).option("maxFilesPerTrigger", 1)
            reader.parquet(str(self.folder / name)).createOrReplaceTempView(name)
        watermark = f"select * from orders watermark at delay of interval {self.delay} seconds where spark_partition_id() >= 0"
        self.session.sql(watermark).createOrReplaceTempView("events")
        rows = joined_as_of(self.session, self.step, "append")

        def keep(batch, number):
            pairs = sorted(((row["n"], row["price"]) for row in batch.collect()), key=repr)
            self.batches[number:] = [pairs]

        writer = rows.writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
        running = writer.foreachBatch(keep).trigger(availableNow=True).start()
        running.awaitTermination()
        self.progress = running.recentProgress
        states = (state for progress in self.progress for state in progress.stateOperators)
        self.late += sum(state.numRowsDroppedByWatermark for state in states)
        return self.batches

    def forget_last(self):
        """Make the last batch one that was killed before it was complete: it runs again."""
        commits = self.folder / "checkpoint/commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / f"{last}").unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)

    @property
    def rows(self):
        return sorted((row for batch in self.batches for row in batch), key=repr)

    @property
    def state_rows(self):
        return self.progress[-1].stateOperators[0].numRowsTotal


@pytest.fixture
def stream(first_spark, tmp_path):
    def new_stream(**options):
        delay = options.pop("delay", DELAY)
        return Stream(first_spark, tmp_path, view(**options), delay)

    return new_stream


def test_a_row_waits_until_the_watermark_has_passed_its_time(stream):
    join = stream()
    join.add([("a", 1, 5)], [("a", 10, 0)])
    join.add([("a", 2, 15)], [("a", 11, 4)])
    join.add([("a", 3, 16)])
    join.add([("a", 4, 17)])
    # The watermark is 5 in the third batch, and 6 in the fourth.
    assert join.run() == [[], [], [], [(1, 11)], []]


def test_a_late_row_gets_its_version_at_once(stream):
    join = stream()
    join.add([("a", 1, 100)], [("a", 10, 0), ("a", 11, 50)])
    join.add([("a", 2, 101), ("a", 3, 20), ("a", 4, 60)])
    assert join.run()[:2] == [[], [(3, 10), (4, 11)]]


@pytest.mark.parametrize("outer", [True, False])
def test_rows_without_a_version(stream, outer):
    join = stream(outer=outer)
    join.add(
        [("a", 1, 1), (None, 2, 5), ("b", 3, 5), ("a", 4, None), ("c", 5, 30)],
        [("a", 10, 2), ("b", None, 3), ("b", 7, 1), ("c", 8, 29)],
    )
    join.add([("z", 9, 100)])
    join.add([("z", 10, 200)])
    without = [(1, None), (2, None), (3, None), (4, None), (9, None)]
    join.run()
    assert [r for r in join.rows if r[0] < 10] == sorted([(5, 8), *(without if outer else [])], key=repr)


def test_rows_wait_longer_for_versions_that_can_be_later(stream):
    join = stream(wait=20)
    join.add([("a", 1, 0)], [("a", 10, -5)])
    join.add([("a", 2, 30)], [])
    join.add([("a", 3, 31)], [("a", 11, -1)])
    join.add([("a", 4, 32)], [])
    assert join.run()[:4] == [[], [], [], [(1, 11)]]


def test_the_last_of_several_versions_with_one_time_counts(stream):
    join = stream()
    join.add([("a", 1, 5)], [("a", 10, 0), ("a", 11, 0)])
    join.add([], [("a", 12, 0), ("a", 13, 0)])
    join.add([("a", 2, 100)])
    join.run()
    assert join.rows == [(1, 13)]


def test_versions_are_dropped_and_rows_that_are_too_old_are_late(stream):
    join = stream(keep=60)
    join.add([("a", 0, 0)], [("a", 10, 0), ("a", 11, 30), ("b", 5, 0), ("b", None, 20)])
    join.add([("a", 1, 95)])
    join.run()
    # Two versions of `a` and the row that waits: the watermark is 85, and `b` ended at 20.
    assert join.state_rows == 3
    assert join.rows == [(0, 10)]
    join.add([("a", 2, 101)])
    join.add([("a", 3, 20), ("a", 7, 29), ("a", 4, 31), ("a", 5, 102)])
    join.add([("a", 6, 200)])
    join.run()
    assert join.late == 1
    assert [row for row in join.rows if row[0] != 6] == [
        (0, 10),
        (1, 11),
        (2, 11),
        (4, 11),
        (5, 11),
        (7, 10),
    ]


@pytest.mark.parametrize("held", [100, pytest.param(temporal.HELD, marks=pytest.mark.long)])
def test_versions_of_several_keys_whose_rows_leave_in_turns(stream, monkeypatch, held):
    monkeypatch.setattr(temporal, "HELD", held)
    join = stream()
    keys, count = "abcdef", 300 if held == 100 else 3000
    prices = [(k, i * 10 + keys.index(k), i) for i in range(count) for k in keys]
    join.add([(k, i * 10 + keys.index(k), i) for i in range(0, count, count // 30) for k in keys], prices)
    join.add([("z", -1, 10_000)])
    join.run()
    assert [n for n, price in join.rows if n != price] == []
    assert len(join.rows) == 6 * 30


def test_a_batch_gives_the_same_rows(stream, first_spark):
    arrived = records(3)
    join = stream()
    orders, prices = ([row for kind, row in arrived if kind == of] for of in ("order", "price"))
    join.add([*orders, (None, -1, 5), ("a", -2, None)], prices)
    for name in COLUMNS:
        join.session.read.parquet(str(join.folder / name)).createOrReplaceTempView(name)
    join.session.table("orders").createOrReplaceTempView("events")
    rows = joined_as_of(join.session, join.step, "append").collect()
    pairs = sorted(((row["n"], row["price"]) for row in rows), key=repr)
    assert pairs == sorted([*asof(arrived), (-1, None), (-2, None)], key=repr)


def records(seed):
    """Return orders and prices in the order in which they arrive, each up to the delay after its time."""
    random = Random(seed)
    orders = [("order", (random.choice("abc"), n, random.randint(0, 300))) for n in range(60)]
    prices = [
        ("price", (random.choice("abc"), random.choice([None, *range(100)]), random.randint(-5, 300)))
        for _ in range(40)
    ]
    return sorted([*orders, *prices], key=lambda arrival: arrival[1][2] + random.uniform(0, DELAY - 0.01))


def asof(arrived):
    """Return the price of each order according to DuckDB; of prices with one time, the last one counts."""
    prices = {(k, moment): price for kind, (k, price, moment) in arrived if kind == "price"}
    with duckdb.connect() as connection:
        connection.execute("create table prices (k text, t int, price int)")
        connection.execute("create table orders (k text, n int, t int)")
        connection.executemany(
            "insert into prices values (?, ?, ?)", [(*key, p) for key, p in prices.items()]
        )
        connection.executemany(
            "insert into orders values (?, ?, ?)", [o for kind, o in arrived if kind == "order"]
        )
        joined = "select n, price from orders o asof left join prices p on o.k = p.k and o.t >= p.t"
        return sorted(connection.execute(joined).fetchall(), key=repr)


@pytest.mark.parametrize("seed", range(max(1, BUILDS // 3)))
@pytest.mark.parametrize("keep", [60, pytest.param(None, marks=pytest.mark.long)])
def test_joined_rows_do_not_depend_on_batches_order_restarts_and_kills(stream, seed, keep):
    arrived, random = records(seed), Random(seed)
    join = stream(keep=keep)
    cuts = sorted(random.sample(range(1, len(arrived)), 9))
    for first, last in zip([0, *cuts], [*cuts, len(arrived)], strict=True):
        part = arrived[first:last]
        join.add(*([row for kind, row in part if kind == of] for of in ("order", "price")))
        if random.random() < 0.3:
            join.run()
            join.forget_last()
    join.add([("z", -1, 1000)])
    join.run()
    assert [row for row in join.rows if row[0] >= 0] == asof(arrived)
    assert join.late == 0


TOPICS = """
sources:
  - name: shop
    topics:
      - name: orders
        columns:
          - {name: k, type: string}
          - {name: n, type: bigint}
          - {name: at, type: timestamp}
          - {name: more, type: "struct<day: date, tags: array<string>, sums: map<string, decimal(10,2)>>"}
        watermark: {column: at, delay: 10 seconds}
      - name: prices
        table: true
        versions: 2 minutes
        key: {name: id, type: string}
        columns:
          - {name: price, type: bigint}
          - {name: since, type: timestamp}
          - {name: day, type: date}
        watermark: {column: since, delay: 10 seconds}
"""
MODEL = """
{{ config(materialized='sink') }}
select o.n, o.k, o.at, o.more, p.price, p.day, p.valid_from, q.price as again
from {{ source('shop', 'orders') }} as o
left join {{ source('shop', 'prices') }} for system_time as of o.at as p on p.id = o.k
left join {{ source('shop', 'prices') }} for system_time as of o.at as q on o.k = q.id and q.price > 50
"""
MORE = {"day": "0002-03-01", "tags": ["x", None], "sums": {"a": 1.5}}


@pytest.mark.long
@pytest.mark.parametrize("target", ["all", "plain"])
def test_a_model_gives_the_rows_of_duckdb(first_spark, tmp_path, target):
    (tmp_path / "models").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.millstream]\nname = "shop"\n')
    (tmp_path / "models/sources.yml").write_text(TOPICS)
    (tmp_path / "models/joined.sql").write_text(MODEL)
    project, arrived = (
        streamed(tmp_path, target),
        [arrival for arrival in records(7) if arrival[1][1] is not None],
    )
    batches = {"orders": [], "prices": []}
    for first in range(0, len(arrived), 12):
        rows = {"order": [], "price": []}
        for kind, (k, number, moment) in arrived[first : first + 12]:
            written = f"{time(moment):%Y-%m-%dT%H:%M:%SZ}"
            rows[kind].append(
                {"k": k, "n": number, "at": written, "more": MORE}
                if kind == "order"
                else {"_key": k, "price": number, "since": written, "day": "1500-01-01"}
            )
        batches["orders"].append(rows["order"])
        batches["prices"].append(rows["price"])
    last = {"k": "z", "n": -1, "at": "2024-01-02T00:00:00Z", "more": None}
    batches["orders"] += [[last], [last | {"n": -2, "at": "2024-01-03T00:00:00Z"}], []]
    stored = [row for _, row in project.run(first_spark, project.query_of("joined"), batches)]
    rows = {row["n"]: row for row in stored if row["n"] >= 0}
    expected = dict(asof(arrived))
    assert {n: row.get("price") for n, row in rows.items()} == expected
    assert {n: row.get("again") for n, row in rows.items()} == {
        n: price if price is not None and price > 50 else None for n, price in expected.items()
    }
    assert len(stored) == len(rows) + 1
    for row in rows.values():
        assert row["more"] == {"day": "0002-03-01", "tags": ["x", None], "sums": {"a": 1.5}}
        assert row.get("day") == (None if row.get("price") is None else "1500-01-01")
