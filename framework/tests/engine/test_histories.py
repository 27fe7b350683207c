"""A topic after its history; plain Python computes what all records give."""

import os
import time
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest
from deltalake import write_deltalake
from support.delta_tables import good_build
from support.histories import append_history, forget, row, send_events, write_history_file
from support.running import running
from support.runs import job_of, send, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import BatchCompleted
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.ops.lag import topic_lags
from millstream.project.folders import checkpoints_of
from millstream.queries.topology import with_ancestors
from millstream.runner.commands.up_to_date import results_if_up_to_date
from millstream.runner.samples.compute import SampleRequest, compute_rows

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
PLAIN = f"{{{{ config(materialized='sink') }}}} select id, user, value from {EVENTS} where value <> 3"
TOTALS = (
    "{{ config(materialized='table', unique_key='user') }} "
    f"select user, count(*) as events, sum(value) as total from {EVENTS} group by user"
)
MINUTES = (
    "{{ config(materialized='sink', key='minute', emit='on_close') }} "
    "select cast(window(at, '1 minute').start as string) as minute, count(*) as events, sum(value) as total "
    f"from {EVENTS} group by window(at, '1 minute')"
)
HIGH = f"{{{{ config(materialized='table') }}}} select id from {EVENTS} where value > 990"
MODELS = {
    "plain": PLAIN,
    "totals": TOTALS,
    "minutes": MINUTES,
    "firsts": "{{ config(materialized='table', dedupe={'keys': ['id']}, unbounded_state='accept') }} "
    f"select id, user, at from {EVENTS}",
    "joined": "{{ config(materialized='table') }} "
    f"select x.id as x, y.id as y from {EVENTS} as x join {EVENTS} as y "
    "on x.user = y.user and y.at between x.at and x.at + interval 1 minute and x.kind = 'x' and y.kind = 'y'",
    "stored": "{{ config(materialized='table') }} select id, _partition as part, _offset as number, "
    f"_timestamp as sent, _topic as topic, _key as k from {EVENTS}",
}


def plain_rows(numbers):
    return Counter((e["id"], e["user"], e["value"]) for e in map(row, numbers) if e["value"] != 3)


def windows(numbers):
    """Return the windows that have closed: a minute after their ends, by the last event."""
    minutes = defaultdict(list)
    for event in map(row, numbers):
        minutes[event["at"].replace(second=0)].append(event["value"])
    closed = max(row(number)["at"] for number in numbers) - timedelta(minutes=2)
    return Counter(
        (f"{minute:%Y-%m-%d %H:%M:%S}", len(values), sum(values))
        for minute, values in minutes.items()
        if minute <= closed
    )


def totals_of(numbers, more=0):
    totals = defaultdict(list)
    for event in map(row, numbers):
        totals[event["user"]].append(event["value"] + more)
    return {user: (len(values), sum(values)) for user, values in totals.items()}


def stored_totals(shop):
    return {r["user"]: (r["events"], r["total"]) for r in table_rows(shop.root, "model.totals")}


def sent(shop, topic, *columns):
    return Counter(tuple(r[column] for column in columns) for r in shop.values(topic))


def check(shop, numbers):
    """Compare all models with what Python computes over some events."""
    rows = [row(number) for number in numbers]
    assert sent(shop, "plain", "id", "user", "value") == plain_rows(numbers)
    assert stored_totals(shop) == totals_of(numbers)
    assert sent(shop, "minutes", "minute", "events", "total") == windows(numbers)
    assert sorted(r["id"] for r in table_rows(shop.root, "model.firsts")) == sorted({r["id"] for r in rows})
    pairs = Counter(
        (x["id"], y["id"])
        for x in rows
        for y in rows
        if x["user"] == y["user"]
        and (x["kind"], y["kind"]) == ("x", "y")
        and timedelta(0) <= y["at"] - x["at"] <= timedelta(minutes=1)
    )
    assert pairs
    assert Counter((r["x"], r["y"]) for r in table_rows(shop.root, "model.joined")) == pairs
    names = ("id", "part", "number", "sent", "topic", "k")
    stored = [tuple(r[name] for name in names) for r in table_rows(shop.root, "model.stored")]
    expected = [(e["id"], 0, n, e["at"], "events", e["user"]) for n, e in zip(numbers, rows, strict=True)]
    assert sorted(stored) == expected


def lags(shop):
    job = job_of(shop.root)
    checkpoints = checkpoints_of(job.project.target, shop.root)
    admin = admin_of(Cluster(shop.bootstrap, embedded=True))
    return {
        (lag.topic, lag.records) for lag in topic_lags(admin, job.project, job.physical.queries, checkpoints)
    }


def computed(shop, spark, model, last):
    """Return what `show` computes for a model over the newest records."""
    job, id_ = job_of(shop.root), NodeId("model", model)
    catalog = with_ancestors(job.catalog, frozenset((id_,)))
    request = SampleRequest(job.project, catalog, id_, None, last, "spark.log")
    return compute_rows(request, admin_of(Cluster(shop.bootstrap, embedded=True)), spark).rows


@pytest.fixture
def web(shop):
    shop.source(history="{delta_table: old}")
    return shop


def test_all_models_are_as_if_all_records_were_in_the_topic(web, first_spark):
    for name, sql in MODELS.items():
        web.model(name, sql)
    append_history(web, *range(40))
    send_events(web, *range(60))
    forget(web, 30)
    results, _ = good_build(web, first_spark)
    assert {result.rows_read for result in results.results} == {60, 120}
    (plain,) = (result for result in results.results if result.id == "model.plain")
    assert (plain.fates.read, plain.fates.written, plain.fates.failed) == (60, 58, 0)
    check(web, range(60))
    # What is added to the history later is in the topic, too. A history that was read can be gone.
    append_history(web, *range(40, 60))
    (web.root / "old").rename(web.root / "gone")
    send_events(web, *range(60, 70))
    assert lags(web) == {("events", 10)}
    good_build(web, first_spark)
    check(web, range(70))
    assert lags(web) == {("events", 0)}
    assert results_if_up_to_date(job_of(web.root), web.root / ".millstream") is not None


def test_what_is_computed_again_reads_both_parts(web, first_spark):
    web.model("totals", TOTALS)
    web.model("plain", PLAIN)
    append_history(web, *range(40))
    send_events(web, *range(60))
    good_build(web, first_spark)
    # The topic forgets what the queries have read: more of it is in the history meanwhile.
    append_history(web, *range(40, 55))
    forget(web, 50)
    web.model("totals", TOTALS.replace("sum(value)", "sum(value + 1)"))
    web.model("joining", PLAIN)
    good_build(web, first_spark, intent=Apply({}))
    assert stored_totals(web) == totals_of(range(60), more=1)
    assert sent(web, "joining", "id", "user", "value") == plain_rows(range(60))
    send_events(web, *range(60, 65))
    good_build(web, first_spark)
    assert stored_totals(web) == totals_of(range(65), more=1)
    for topic in ("plain", "joining"):
        assert sent(web, topic, "id", "user", "value") == plain_rows(range(65))
    assert {r[0]: r[1:] for r in computed(web, first_spark, "totals", 1000)} == totals_of(range(65), more=1)
    assert {r[0]: r[1:] for r in computed(web, first_spark, "totals", 20)} == totals_of(range(45, 65), more=1)


def test_a_time_divides_files_and_the_topic(shop, first_spark):
    shop.source(history="{files: old, until: '2026-01-01 00:10:00'}")
    shop.model("totals", TOTALS)
    shop.model("minutes", MINUTES)
    # Records 0 to 29 are from before that time. The last of these comes after newer ones.
    without = ("_partition", "_offset")
    write_history_file(shop, "newer", *range(20, 35), without=without)
    write_history_file(shop, "older", *range(20), without=without)
    send_events(shop, *range(25), *range(30, 50), 29)
    good_build(shop, first_spark)
    assert stored_totals(shop) == totals_of(range(50))
    assert sent(shop, "minutes", "minute", "events", "total") == windows(range(50))


@pytest.mark.long
def test_a_run_reads_the_history_before_the_topic(web, first_spark):
    web.model("minutes", MINUTES)
    web.model("plain", PLAIN)
    append_history(web, *range(40))
    # The topic is days ahead: if it were read first, no window of the history would be in time.
    send_events(web, *range(40), *range(20_000, 20_010))
    with running(web.root, first_spark) as run:
        run.until(lambda: len([e for e in run.of(BatchCompleted) if e.batch.rows]) >= 4)
        send_events(web, *range(20_010, 20_030))
        run.until(lambda: sum(e.batch.rows for e in run.of(BatchCompleted)) >= 140)
        numbers = (*range(40), *range(20_000, 20_030))
        run.until(lambda: sent(web, "minutes", "minute", "events", "total") == windows(numbers))
    assert sent(web, "plain", "id", "user", "value") == plain_rows(numbers)


ROWS = int(os.environ.get("MILLSTREAM_HISTORY_ROWS", "20000"))
EVERYTHING = """
    select range as id, 'u' || range % 1000 as user, if(range % 2 = 0, 'x', 'y') as kind,
        cast(range % 997 as double) as value, range as number
    from range({rows})
"""
"""All events, as DuckDB makes them."""


def cpu_seconds(spark):
    """Return the CPU time of Spark's JVM."""
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def measured(spark, work):
    """Return how long work takes, and the CPU time of its JVM."""
    started, cpu = time.monotonic(), cpu_seconds(spark)
    work()
    return f"{time.monotonic() - started:.0f} s, {cpu_seconds(spark) - cpu:.0f} CPU seconds"


@pytest.mark.long
def test_many_rows_are_computed_again(web, first_spark):
    """DuckDB computes what is expected over everything; `MILLSTREAM_HISTORY_ROWS=5000000` is what it is about."""
    live = ROWS + ROWS // 50
    everything = duckdb.sql(EVERYTHING.format(rows=live))
    old = duckdb.sql(
        "select cast(id as int) as id, user, kind, value, timestamptz '2026-01-01' as at, "
        "cast(0 as int) as _partition, number as _offset, timestamptz '2026-01-01' as _timestamp "
        f"from everything where number < {ROWS}"
    ).to_arrow_table()
    write_deltalake(str(web.root / "old"), old)
    # The topic only has the newest records.
    send(web.bootstrap, {"events": ((None, "{}") for _ in range(ROWS))})
    forget(web, ROWS)
    newer = everything.filter(f"number >= {ROWS}").select("id, user, kind, value").fetchall()
    names = ("id", "user", "kind", "value")
    send(web.bootstrap, {"events": ((r[1], dict(zip(names, r, strict=True))) for r in newer)})
    web.model("totals", TOTALS)
    web.model("high", HIGH)
    took = measured(first_spark, lambda: good_build(web, first_spark))
    print(f"{ROWS:,} rows of a history and {live - ROWS:,} records: {took}")  # noqa: T201 - for people
    computed = "select user, count(*), sum({}) from everything group by user"
    assert stored_totals(web) == {r[0]: r[1:] for r in duckdb.sql(computed.format("value")).fetchall()}
    web.model("totals", TOTALS.replace("sum(value)", "sum(value * 2)"))
    took = measured(first_spark, lambda: good_build(web, first_spark, intent=Apply({})))
    print(f"rebuilt: {took}")  # noqa: T201 - for people
    assert stored_totals(web) == {r[0]: r[1:] for r in duckdb.sql(computed.format("value * 2")).fetchall()}
    high = duckdb.sql("select id from everything where value > 990 order by id").fetchall()
    assert sorted((r["id"],) for r in table_rows(web.root, "model.high")) == high
