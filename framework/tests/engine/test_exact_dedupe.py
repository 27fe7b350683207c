"""Exact dedupes: which rows pass follows from a rule in a few lines of Python, however batches are cut."""

import os
from datetime import datetime, timedelta, timezone
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from support.long import BUILDS
from support.micro_batches import streamed
from support.spark import SPARK_WARNINGS

from millstream.engine.queries.deduplicated import exactly_deduplicated
from millstream.queries.emit.steps import DedupeView

pytestmark = SPARK_WARNINGS

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
COLUMNS = "k string, n bigint, at timestamp, p int, o bigint"
DELAY, WITHIN = 10, 60
"""Seconds by which rows can be late, and within which they are duplicates."""


def time(seconds):
    return None if seconds is None else START + timedelta(seconds=seconds)


class Stream:
    """The step over files, of which each is a micro-batch."""

    def __init__(self, spark, folder, position):
        self.session = spark.newSession()
        for name, value in QUICK.items():
            self.session.conf.set(name, value)
        self.folder, self.files, self.offset, self.late, self.passed = folder, 0, 0, 0, []
        self.step = DedupeView(
            "passed", "events", ("k",), f"{WITHIN} seconds", exact_by="at", position_columns=position
        )
        (folder / "rows").mkdir()

    def add(self, *rows):
        names = COLUMNS.replace(",", "").split()[::2]
        records = [dict(zip(names, (k, n, time(seconds), p, o), strict=True)) for k, n, seconds, p, o in rows]
        file = self.folder / "rows" / f"{self.files:06}.parquet"
        schema = to_arrow_schema(StructType.fromDDL(COLUMNS), timezone="UTC")
        pq.write_table(pa.Table.from_pylist(records, schema=schema), file)
        os.utime(file, (10**9 + self.files, 10**9 + self.files))
        self.files += 1

    def run(self):
        """Continue from the checkpoint with the files that were added."""
        reader = self.session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        reader.parquet(str(self.folder / "rows")).createOrReplaceTempView("rows")
        late = f"watermark at delay of interval {DELAY} seconds where spark_partition_id() >= 0"
        self.session.sql(f"select * from rows {late}").createOrReplaceTempView("events")

        def keep(batch, number):
            self.passed[number:] = [[row["n"] for row in batch.collect()]]

        writer = exactly_deduplicated(self.session, self.step, "append").writeStream
        running = writer.option("checkpointLocation", str(self.folder / "checkpoint")).foreachBatch(keep)
        running = running.trigger(availableNow=True).start()
        running.awaitTermination()
        self.progress = running.recentProgress
        self.late += sum(
            state.numRowsDroppedByWatermark for progress in self.progress for state in progress.stateOperators
        )
        return self

    def forget_last(self):
        """Make the last batch one that was killed before it was complete: it runs again."""
        commits = self.folder / "checkpoint/commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / f"{last}").unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)

    @property
    def numbers(self):
        return sorted(n for batch in self.passed for n in batch)

    @property
    def state_rows(self):
        return self.progress[-1].stateOperators[0].numRowsTotal


@pytest.fixture
def stream(first_spark, tmp_path):
    return lambda position=("p", "o"): Stream(first_spark, tmp_path, position)


def of_one_partition(*rows, first=0):
    return [(k, n, seconds, 0, first + index) for index, (k, n, seconds) in enumerate(rows)]


def rule(batches, has_positions=True):
    """Return the numbers of the rows that pass."""
    passed, times = [], {}
    for batch in batches:
        for key in dict.fromkeys(row[0] for row in batch):
            key_times = times.setdefault(key, [])
            timed = [
                row for row in batch if row[0] == key and row[2] is not None and not near(key_times, row[2])
            ]
            for _, n, seconds, _, _ in (
                in_turn(timed) if has_positions else sorted(timed, key=lambda row: row[2])
            ):
                if not near(key_times, seconds):
                    key_times.append(seconds)
                    passed.append(n)
    return sorted([*passed, *(n for batch in batches for _, n, seconds, _, _ in batch if seconds is None)])


def near(times, seconds):
    return any(abs(seconds - time) <= WITHIN for time in times)


def in_turn(rows):
    """Take the row with the earliest time of the next ones of all partitions."""
    queues = [[row for row in rows if row[3] == p] for p in sorted({row[3] for row in rows})]
    while queues := [queue for queue in queues if queue]:
        yield min(queues, key=lambda queue: queue[0][2]).pop(0)


def test_rows_of_one_key_in_one_batch(stream):
    deduped = stream()
    deduped.add(
        *of_one_partition(
            ("a", 0, 100),
            ("a", 1, 160),
            ("a", 2, 40),
            ("a", 3, 39.999999),
            ("a", 4, 160.000001),
            (None, 5, 100),
            (None, 6, 101),
            ("b", 7, 100),
            ("a", 8, 8 * 3600),
            ("a", 9, None),
            ("a", 10, None),
        )
    )
    assert deduped.run().numbers == [0, 3, 4, 5, 7, 8, 9, 10]


def test_the_first_record_of_equal_times_passes(stream):
    deduped = stream()
    deduped.add(("a", 0, 5, 0, 8), ("a", 1, 5, 0, 7), ("b", 2, 5, 1, 3), ("b", 3, 5, 0, 4))
    assert deduped.run().numbers == [1, 3]


def test_rows_without_a_place_are_taken_by_time_and_then_by_their_values(stream):
    deduped = stream(())
    deduped.add(
        ("a", 0, 50, 0, 0), ("a", 1, 5, 0, 1), ("a", 2, 100, 0, 2), ("b", 4, 5, 0, 0), ("b", 3, 5, 0, 1)
    )
    assert deduped.run().numbers == [1, 2, 3]


def test_states_end_and_late_rows_are_dropped(stream):
    deduped = stream()
    deduped.add(("a", 0, 0, 0, 0), ("b", 1, 0, 0, 1), ("b", 2, 61, 0, 2))
    deduped.add(("z", 3, 90, 0, 3))
    assert deduped.run().state_rows == 2
    assert deduped.late == 0
    deduped.add(("b", 4, 85, 0, 4), ("a", 5, 60, 0, 5), ("a", 6, 81, 0, 6), ("a", 7, 141, 0, 7))
    deduped.run()
    assert deduped.late == 1
    assert deduped.numbers == [0, 1, 2, 3, 6]
    deduped.add(("z", 8, 500, 0, 8))
    deduped.add(("z", 9, 501, 0, 9))
    assert deduped.run().state_rows == 1


def records(seed, partitions):
    """Return rows in the order in which they arrive, each up to the delay after its time."""
    random = Random(seed)
    rows = [(random.choice(["a", "b", "c", None]), n, random.randint(0, 600)) for n in range(120)]
    rows.sort(key=lambda row: row[2] + random.uniform(0, DELAY - 0.01))
    return [
        (k, n, None if random.random() < 0.05 else seconds, random.randrange(partitions), offset)
        for offset, (k, n, seconds) in enumerate(rows)
    ]


@pytest.mark.parametrize("seed", range(max(1, BUILDS // 3)))
@pytest.mark.parametrize("partitions", [1, 3])
def test_rows_follow_from_the_rule_with_random_batches_restarts_and_kills(stream, seed, partitions):
    arrived, random, deduped, batches = records(seed, partitions), Random(seed), stream(), []
    cuts = sorted(random.sample(range(1, len(arrived)), 7))
    for first, last in zip([0, *cuts], [*cuts, len(arrived)], strict=True):
        batches.append(arrived[first:last])
        deduped.add(*random.sample(batches[-1], last - first))
        if random.random() < 0.3:
            deduped.run()
            deduped.forget_last()
    deduped.run()
    assert deduped.numbers == rule(batches)
    assert deduped.late == 0
    if partitions == 1:
        assert deduped.numbers == rule([[row] for row in arrived]) == rule([arrived])


def test_batches_make_no_difference_for_times_that_come_in_their_order():
    for seed in range(50):
        arrived = sorted(records(seed, 3), key=lambda row: row[2] or 0)
        keys_and_times = {n: (k, seconds) for k, n, seconds, _, _ in arrived}
        at_once, one_by_one = rule([arrived]), rule([[row] for row in arrived])
        assert sorted(map(str, map(keys_and_times.get, at_once))) == sorted(
            map(str, map(keys_and_times.get, one_by_one))
        )


TOPICS = """
sources:
  - name: shop
    topics:
      - name: orders
        key: {name: k, type: string}
        columns:
          - {name: n, type: bigint}
          - {name: at, type: timestamp}
          - {name: more, type: "struct<day: date, sums: map<string, decimal(10,2)>>"}
        watermark: {column: at, delay: 10 seconds}
"""
EXACT = "dedupe={'keys': ['k'], 'within': '60 seconds', 'exact': true}"
MODELS = {
    "passed": f"{{{{ config(materialized='sink', {EXACT}) }}}}"
    "select k, n, at, more from {{ source('shop', 'orders') }} where n % 10 <> 3",
    "first": f"{{{{ config({EXACT}) }}}} select n, k, at from {{{{ source('shop', 'orders') }}}}",
    "per_minute": "{{ config(materialized='sink', emit='on_close') }}"
    "select window(at, '1 minute').start as minute, count(*) as found, sum(n) as total from {{ ref('first') }}"
    " where k <> 'b' group by window(at, '1 minute')",
}
MORE = {"day": "0002-03-01", "sums": {"a": 1.5}}


@pytest.mark.parametrize("target", ["all", pytest.param("plain", marks=pytest.mark.long)])
def test_models_give_the_rows_of_the_rule(first_spark, tmp_path, target):
    project = streamed(written(tmp_path, MODELS), target)
    arrived = [row for row in records(5, 1) if row[2] is not None]
    closing = [("z", 1000 + n, 2000 + n * 500, 0, 0) for n in range(3)]
    batches = [
        *(arrived[first : first + 30] for first in range(0, len(arrived), 30)),
        *([row] for row in closing),
        [],
    ]
    stored = {name: [] for name in ("passed", "per_minute")}
    for query in {query.name: query for query in map(project.query_of, stored)}.values():
        for topic, row in project.run(
            first_spark, query, {"orders": [[*map(record, batch)] for batch in batches]}
        ):
            stored[topic].append(row)
    assert sorted(row["n"] for row in stored["passed"]) == rule(
        [[r for r in (*arrived, *closing) if r[1] % 10 != 3]]
    )
    assert all(row["more"] == MORE for row in stored["passed"])
    numbers, minutes = {*rule([arrived])}, {}
    for key, n, seconds, _, _ in arrived:
        if n in numbers and key not in {"b", None}:
            minutes.setdefault(f"{time(seconds - seconds % 60):%H:%M}", []).append(n)
    totals = {row["minute"][11:16]: row["total"] for row in stored["per_minute"] if row["total"] < 1000}
    assert totals == {minute: sum(passing) for minute, passing in minutes.items()}


FIRST = "select k, w, n from {{{{ ref('closed') }}}} where n <> {0}"
WINDOWS = {
    "closed": "{{ config(emit='on_close') }} select window(at, '1 minute') as w, k, sum(n) as n "
    "from {{ source('shop', 'orders') }} group by window(at, '1 minute'), k",
    "at_least": "{{ config(materialized='sink', dedupe={'keys': ['K'], 'within': '1 hour'}) }}"
    + FIRST.format(-1),
    "exactly": "{{ config(materialized='sink', dedupe={'keys': ['K'], 'within': '1 hour', 'exact': true}) }}"
    + FIRST.format(-2),
}


@pytest.mark.long
@pytest.mark.parametrize(("model", "passed"), [("at_least", [0]), ("exactly", [0, 3])])
def test_the_time_of_a_window_is_its_end(first_spark, tmp_path, model, passed):
    project = streamed(written(tmp_path, WINDOWS))
    query = next(query for query in project.physical.queries if f"model.{model}" in query.stored)
    batches = [[record(("a", n, n * 1260, 0, 0))] for n in range(4)]
    # The watermark that closes the last windows is 57 minutes after the first one's.
    batches += [[record(("z", 99, 3 * 1260 + 100, 0, 0))], []]
    if model == "at_least":
        batches = [*batches[:3], [record(("z", 99, 2 * 1260 + 100, 0, 0))], []]
    assert [row["n"] for _, row in project.run(first_spark, query, {"orders": batches})] == passed


def written(folder, models):
    (folder / "models").mkdir()
    (folder / "pyproject.toml").write_text('[tool.millstream]\nname = "shop"\n')
    (folder / "models/sources.yml").write_text(TOPICS)
    for name, sql in models.items():
        (folder / f"models/{name}.sql").write_text(sql)
    return folder


def record(row):
    key, n, seconds, _, _ = row
    value = {"n": n, "at": f"{time(seconds):%Y-%m-%dT%H:%M:%SZ}", "more": MORE}
    return value if key is None else {"_key": key, **value}
