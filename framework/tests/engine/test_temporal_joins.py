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
from support.spark import SPARK_WARNINGS
from support.streamed import streamed

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
        self.made = []
        self.late = 0

    def add(self, orders=(), prices=()):
        rows = {
            "orders": [{"k": k, "n": n, "at": time(at)} for k, n, at in orders],
            "prices": [
                {"id": k, "price": price, "valid_from": time(at), "_deleted": price is None, "_partition": 0, "_offset": self.offset + i}
                for i, (k, price, at) in enumerate(prices)
            ],
        }  # fmt: skip
        self.offset += len(rows["prices"])
        for name, columns in COLUMNS.items():
            place = self.folder / name
            place.mkdir(exist_ok=True)
            file = place / f"{self.files:06}.parquet"
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

        def keep(found, number):
            listed = sorted(((row["n"], row["price"]) for row in found.collect()), key=repr)
            self.made[number:] = [listed]

        writer = rows.writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
        running = writer.foreachBatch(keep).trigger(availableNow=True).start()
        running.awaitTermination()
        self.progress = running.recentProgress
        states = (each for progress in self.progress for each in progress.stateOperators)
        self.late += sum(each.numRowsDroppedByWatermark for each in states)
        return self.made

    def forget_last(self):
        """Make the last batch one that was killed before it was complete: it runs again."""
        commits = self.folder / "checkpoint/commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / f"{last}").unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)

    @property
    def rows(self):
        return sorted((row for batch in self.made for row in batch), key=repr)

    @property
    def state_rows(self):
        return self.progress[-1].stateOperators[0].numRowsTotal


@pytest.fixture
def stream(first_spark, tmp_path):
    def made(**options):
        delay = options.pop("delay", DELAY)
        return Stream(first_spark, tmp_path, view(**options), delay)

    return made


def test_a_row_waits_until_the_watermark_has_passed_its_time(stream):
    found = stream()
    found.add([("a", 1, 5)], [("a", 10, 0)])
    found.add([("a", 2, 15)], [("a", 11, 4)])
    found.add([("a", 3, 16)])
    found.add([("a", 4, 17)])
    # The watermark is 5 in the third batch, and 6 in the fourth.
    assert found.run() == [[], [], [], [(1, 11)], []]


def test_a_late_row_gets_its_version_at_once(stream):
    found = stream()
    found.add([("a", 1, 100)], [("a", 10, 0), ("a", 11, 50)])
    found.add([("a", 2, 101), ("a", 3, 20), ("a", 4, 60)])
    assert found.run()[:2] == [[], [(3, 10), (4, 11)]]


@pytest.mark.parametrize("outer", [True, False])
def test_rows_without_a_version(stream, outer):
    found = stream(outer=outer)
    found.add(
        [("a", 1, 1), (None, 2, 5), ("b", 3, 5), ("a", 4, None), ("c", 5, 30)],
        [("a", 10, 2), ("b", None, 3), ("b", 7, 1), ("c", 8, 29)],
    )
    found.add([("z", 9, 100)])
    found.add([("z", 10, 200)])
    without = [(1, None), (2, None), (3, None), (4, None), (9, None)]
    found.run()
    assert [r for r in found.rows if r[0] < 10] == sorted([(5, 8), *(without if outer else [])], key=repr)


def test_rows_wait_longer_for_versions_that_can_be_later(stream):
    found = stream(wait=20)
    found.add([("a", 1, 0)], [("a", 10, -5)])
    found.add([("a", 2, 30)], [])
    found.add([("a", 3, 31)], [("a", 11, -1)])
    found.add([("a", 4, 32)], [])
    assert found.run()[:4] == [[], [], [], [(1, 11)]]


def test_the_last_of_several_versions_with_one_time_counts(stream):
    found = stream()
    found.add([("a", 1, 5)], [("a", 10, 0), ("a", 11, 0)])
    found.add([], [("a", 12, 0), ("a", 13, 0)])
    found.add([("a", 2, 100)])
    found.run()
    assert found.rows == [(1, 13)]


def test_versions_are_dropped_and_rows_that_are_too_old_are_late(stream):
    found = stream(keep=60)
    found.add([("a", 0, 0)], [("a", 10, 0), ("a", 11, 30), ("b", 5, 0), ("b", None, 20)])
    found.add([("a", 1, 95)])
    found.run()
    # Two versions of `a` and the row that waits: the watermark is 85, and `b` ended at 20.
    assert found.state_rows == 3
    assert found.rows == [(0, 10)]
    found.add([("a", 2, 101)])
    found.add([("a", 3, 20), ("a", 7, 29), ("a", 4, 31), ("a", 5, 102)])
    found.add([("a", 6, 200)])
    found.run()
    assert found.late == 1
    assert [row for row in found.rows if row[0] != 6] == [
        (0, 10),
        (1, 11),
        (2, 11),
        (4, 11),
        (5, 11),
        (7, 10),
    ]


@pytest.mark.parametrize("held", [100, temporal.HELD])
def test_versions_of_several_keys_whose_rows_leave_in_turns(stream, monkeypatch, held):
    monkeypatch.setattr(temporal, "HELD", held)
    found = stream()
    keys, count = "abcdef", 300 if held == 100 else 3000
    prices = [(k, i * 10 + keys.index(k), i) for i in range(count) for k in keys]
    found.add([(k, i * 10 + keys.index(k), i) for i in range(0, count, count // 30) for k in keys], prices)
    found.add([("z", -1, 10_000)])
    found.run()
    assert [n for n, price in found.rows if n != price] == []
    assert len(found.rows) == 6 * 30


def test_a_batch_gives_the_same_rows(stream, first_spark):
    arrived = records(3)
    found = stream()
    orders, prices = ([row for kind, row in arrived if kind == of] for of in ("order", "price"))
    found.add([*orders, (None, -1, 5), ("a", -2, None)], prices)
    for name in COLUMNS:
        found.session.read.parquet(str(found.folder / name)).createOrReplaceTempView(name)
    found.session.table("orders").createOrReplaceTempView("events")
    rows = joined_as_of(found.session, found.step, "append").collect()
    listed = sorted(((row["n"], row["price"]) for row in rows), key=repr)
    assert listed == sorted([*asof(arrived), (-1, None), (-2, None)], key=repr)


def records(seed):
    """Return orders and prices in the order in which they arrive, each up to the delay after its time."""
    random = Random(seed)
    orders = [("order", (random.choice("abc"), n, random.randint(0, 300))) for n in range(60)]
    prices = [
        ("price", (random.choice("abc"), random.choice([None, *range(100)]), random.randint(-5, 300)))
        for _ in range(40)
    ]
    return sorted([*orders, *prices], key=lambda each: each[1][2] + random.uniform(0, DELAY - 0.01))


def asof(arrived):
    """Return the price of each order according to DuckDB; of prices with one time, the last one counts."""
    prices = {(k, at): price for kind, (k, price, at) in arrived if kind == "price"}
    with duckdb.connect() as found:
        found.execute("create table prices (k text, t int, price int)")
        found.execute("create table orders (k text, n int, t int)")
        found.executemany("insert into prices values (?, ?, ?)", [(*key, p) for key, p in prices.items()])
        found.executemany(
            "insert into orders values (?, ?, ?)", [o for kind, o in arrived if kind == "order"]
        )
        joined = "select n, price from orders o asof left join prices p on o.k = p.k and o.t >= p.t"
        return sorted(found.execute(joined).fetchall(), key=repr)


@pytest.mark.parametrize("seed", range(max(1, BUILDS // 3)))
@pytest.mark.parametrize("keep", [60, None])
def test_joined_rows_do_not_depend_on_batches_order_restarts_and_kills(stream, seed, keep):
    arrived, random = records(seed), Random(seed)
    found = stream(keep=keep)
    cuts = sorted(random.sample(range(1, len(arrived)), 9))
    for first, last in zip([0, *cuts], [*cuts, len(arrived)], strict=True):
        part = arrived[first:last]
        found.add(*([row for kind, row in part if kind == of] for of in ("order", "price")))
        if random.random() < 0.3:
            found.run()
            found.forget_last()
    found.add([("z", -1, 1000)])
    found.run()
    assert [row for row in found.rows if row[0] >= 0] == asof(arrived)
    assert found.late == 0


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
    found, arrived = streamed(tmp_path, target), [each for each in records(7) if each[1][1] is not None]
    batches = {"orders": [], "prices": []}
    for first in range(0, len(arrived), 12):
        rows = {"order": [], "price": []}
        for kind, (k, number, at) in arrived[first : first + 12]:
            written = f"{time(at):%Y-%m-%dT%H:%M:%SZ}"
            rows[kind].append(
                {"k": k, "n": number, "at": written, "more": MORE}
                if kind == "order"
                else {"_key": k, "price": number, "since": written, "day": "1500-01-01"}
            )
        batches["orders"].append(rows["order"])
        batches["prices"].append(rows["price"])
    last = {"k": "z", "n": -1, "at": "2024-01-02T00:00:00Z", "more": None}
    batches["orders"] += [[last], [last | {"n": -2, "at": "2024-01-03T00:00:00Z"}], []]
    made = [row for _, row in found.run(first_spark, found.query_of("joined"), batches)]
    rows = {row["n"]: row for row in made if row["n"] >= 0}
    wanted = dict(asof(arrived))
    assert {n: row.get("price") for n, row in rows.items()} == wanted
    assert {n: row.get("again") for n, row in rows.items()} == {
        n: price if price is not None and price > 50 else None for n, price in wanted.items()
    }
    assert len(made) == len(rows) + 1
    for row in rows.values():
        assert row["more"] == {"day": "0002-03-01", "tags": ["x", None], "sums": {"a": 1.5}}
        assert row.get("day") == (None if row.get("price") is None else "1500-01-01")
