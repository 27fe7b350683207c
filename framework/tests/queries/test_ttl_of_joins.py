"""A ttl of joins: the same rows in one batch or many, optimized or not, as DuckDB joins all rows at once."""

import random
from datetime import datetime, timedelta, timezone

import duckdb
import pytest
from support.micro_batches import decoded, streamed
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.runner.samples.trial import as_stream

pytestmark = SPARK_WARNINGS

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
TTL = timedelta(minutes=30)
MODEL = """{{{{ config(materialized='sink', topic='m', key='user_id', state={{'ttl': '30 minutes'}}) }}}}
select e.user_id, e.amount, h.path from {{{{ source('shop', 'events') }}}} as e
{kind} join {{{{ source('shop', 'hits') }}}} as h on e.user_id = h.visitor
"""


def rows(seed):
    """Return events and hits in the order of their times, so that none is late."""
    generator = random.Random(seed)
    times = sorted(START + timedelta(seconds=generator.randrange(6 * 3600)) for _ in range(120))
    rows_by_time = []
    for number, time in enumerate(times):
        user, text = generator.choice("abc"), f"{time:%Y-%m-%dT%H:%M:%S}Z"
        if generator.random() < 0.5:
            rows_by_time.append(("events", {"_key": user, "amount": number, "at": text}))
        else:
            rows_by_time.append(("hits", {"_key": user, "path": f"/{number}", "seen": text}))
    return rows_by_time


def batches(rows_by_time, count):
    """Split rows into batches, with later ones that close what came before."""
    size = -(-len(rows_by_time) // count)
    parts = [rows_by_time[start : start + size] for start in range(0, len(rows_by_time), size)]
    last = f"{START + timedelta(days=2):%Y-%m-%dT%H:%M:%S}Z"
    after = [
        ("events", {"_key": "z", "amount": 0, "at": last}),
        ("hits", {"_key": "y", "path": "/", "seen": last}),
    ]
    return {
        topic: [[row for name, row in part if name == topic] for part in (*parts, after, after)]
        for topic in ("events", "hits")
    }


def joined(rows_by_time, kind):
    """Join all rows at once."""
    duck = duckdb.connect()
    duck.execute("create table events (user_id text, amount bigint, time timestamp)")
    duck.execute("create table hits (visitor text, path text, seen timestamp)")
    for topic, row in rows_by_time:
        duck.execute(
            f"insert into {topic} values (?, ?, ?)",
            [value.rstrip("Z") if isinstance(value, str) else value for value in row.values()],
        )
    condition = f"user_id = visitor and abs(epoch(time) - epoch(seen)) <= {TTL.total_seconds()}"
    return sorted(
        duck.sql(f"select user_id, amount, path from events {kind} join hits on {condition}").fetchall(),
        key=str,
    )


@pytest.mark.parametrize(
    ("target", "kind", "count"),
    [
        ("all", "inner", 3),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in [
                ("plain", "inner", 1),
                ("all", "left", 8),
                ("plain", "left", 3),
                ("all", "left", 1),
                ("all", "inner", 20),
            ]
        ),
    ],
)
def test_rows_match_within_the_ttl_and_no_others(spark, tmp_path, target, kind, count):
    rows_by_time = rows(seed=count)
    project(tmp_path, {"m": MODEL.format(kind=kind)})
    run = streamed(tmp_path, target)
    stream = as_stream(spark, run.trial(run.query_of("m"), batches(rows_by_time, count), {}), "spark.log")
    got = [
        (row["user_id"], row["amount"], row.get("path"))
        for _, row in decoded(stream)
        if row["user_id"] not in {"y", "z"}
    ]
    expected = joined(rows_by_time, kind)
    assert sorted(got, key=str) == expected
    assert len(expected) > 20
    # Rows are in the state until they can't match any more; of a left join, Spark counts those of one side.
    counted = rows_by_time if kind == "inner" else [row for topic, row in rows_by_time if topic == "hits"]
    assert stream.expired == len(counted)


def test_another_ttl_is_another_state(tmp_path):
    project(tmp_path, {"m": MODEL.format(kind="inner")})
    with_ttl = streamed(tmp_path).query_of("m").signature.operators
    project(tmp_path, {"m": MODEL.format(kind="inner").replace("'30 minutes'", "'1 hour'")})
    longer = streamed(tmp_path).query_of("m").signature.operators
    assert with_ttl[0].facts != longer[0].facts
