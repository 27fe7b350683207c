"""Which rows of a join of streams Spark drops: as the compiler says, and as Spark's physical plan says."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone

import pytest
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.compile import compile_project
from streaming.query_runner import QUICK

pytestmark = [SPARK_WARNINGS]
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
SOURCE = {name: f"{{{{ source('shop', '{name}') }}}}" for name in ("events", "hits")}
ROWS = "events as e join hits as h on e.user_id = h.visitor and "
TIMED = "(select *, window.start as s, window.end as e, window_time(window) as t from (select window, max({}) as k from {} group by window({}, '10 seconds')))"
WINDOWS = (
    f"{TIMED.format('user_id', 'events', 'at')} as a join {TIMED.format('visitor', 'hits', 'seen')} as b on "
)
WINDOWED = f"events as e join {TIMED.format('visitor', 'hits', 'seen')} as b on e.user_id = b.k and "
CASES = [
    (ROWS, "true"),
    (ROWS, "e.at = h.seen"),
    (ROWS, "(e.at) = h.seen"),
    (ROWS, "e.at == h.seen + interval 1 hour"),
    (ROWS, "e.at + interval 0 seconds = h.seen + interval 1 hour"),
    (ROWS, "e.at <=> h.seen"),
    (ROWS, "e.at != h.seen"),
    (ROWS, "e.at = date_trunc('hour', h.seen)"),
    (ROWS, "date_trunc('hour', e.at) = date_trunc('hour', h.seen)"),
    (ROWS, "cast(e.at as date) = cast(h.seen as date)"),
    (ROWS, "e.at between h.seen - interval 1 hour and h.seen + interval 1 hour"),
    (ROWS, "(e.at between h.seen - interval '1' hour and (h.seen + interval 90 minutes 3 seconds))"),
    (ROWS, "e.at >= h.seen"),
    (ROWS, "h.seen > e.at"),
    (ROWS, "e.at < h.seen - interval 5 minutes"),
    (ROWS, "e.at >= h.seen and e.at <= h.seen + interval 1 day"),
    (ROWS, "e.at between h.seen - interval 1 month and h.seen + interval 1 month"),
    (ROWS, "e.at not between h.seen - interval 1 hour and h.seen + interval 1 hour"),
    (ROWS, "not (e.at between h.seen - interval 1 hour and h.seen + interval 1 hour)"),
    (ROWS, "not e.at < h.seen - interval 1 hour"),
    (ROWS, "(e.at between h.seen - interval 1 hour and h.seen + interval 1 hour or e.value > 5)"),
    (ROWS, "unix_seconds(e.at) between unix_seconds(h.seen) - 5 and unix_seconds(h.seen) + 5"),
    (ROWS, "e.at - h.seen between interval 0 seconds and interval 1 hour"),
    (ROWS, "e.at >= date_trunc('hour', h.seen) and e.at <= h.seen + interval 1 hour"),
    (ROWS, "e.at >= coalesce(h.seen, e.at) and e.at <= h.seen"),
    (ROWS, "case when e.value > 5 then e.at >= h.seen else e.at > h.seen end"),
    (ROWS, "e.at >= h.seen + interval 1 hour - interval 5 minutes"),
    (ROWS, "e.at > '2024-01-01 00:00:00' and h.seen > '2024-01-01 00:00:00'"),
    (WINDOWS, "a.window = b.window"),
    (WINDOWS, "a.window.start = b.window.start"),
    (WINDOWS, "a.window.end = b.window.end"),
    (WINDOWS, "a.window.start = b.window.start and a.window.end = b.window.end"),
    (WINDOWS, "a.e = b.e"),
    (WINDOWS, "a.t = b.t"),
    (WINDOWS, "a.t = b.window.end - interval 1 microsecond"),
    (WINDOWS, "a.k = b.k and a.t between b.t - interval 1 hour and b.t + interval 1 hour"),
    (WINDOWS, "a.k = b.k and a.window.start between b.window.start - interval 1 hour and b.window.start + interval 1 hour"),
    (WINDOWED, "e.at between b.window.start and b.window.end"),
    (WINDOWED, "e.at between b.s and b.e"),
    (WINDOWED, "e.at between b.t - interval 10 seconds and b.t"),
    (WINDOWED, "e.at = b.t"),
]  # fmt: skip
BOTH, LEFT, RIGHT, NEITHER = "both sides", "the left side", "the right side", ""
"""What is kept for ever."""


def said_by_the_compiler(root):
    models = {
        f"m{number}": "{{ config(emit='on_close', unbounded_state='warn') }}\nselect 1 as one from "
        + re.sub(r"\b(events|hits)\b", lambda name: SOURCE[name[1]], relations + on)
        for number, (relations, on) in enumerate(CASES)
    }
    diagnostics = compile_project(project(root, models), use_cache=False).diagnostics
    assert {diagnostic.code for diagnostic in diagnostics} == {"MS562"}, diagnostics
    sides = {
        diagnostic.location.path[7:-4]: re.search(r"of (.*) forever", diagnostic.message)[1]
        for diagnostic in diagnostics
    }
    return [sides.get(name, NEITHER) for name in models]


def said_by_spark(spark, folder):
    """Return what one query keeps in whose branches the joins are."""
    session = spark.newSession()
    for name, value in QUICK.items():
        session.conf.set(name, value)
    # Its first batch has the plan of all.
    session.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    schemas = {
        "events": ("user_id string, value double, at timestamp", "at"),
        "hits": ("visitor string, seen timestamp", "seen"),
    }
    for name, (schema, time) in schemas.items():
        source_folder = folder / name
        source_folder.mkdir()
        (source_folder / "0.json").write_text(
            json.dumps({"user_id": "a", "visitor": "a", time: START.isoformat()})
        )
        rows = session.readStream.schema(schema).json(str(source_folder))
        rows.withWatermark(time, "10 seconds").createOrReplaceTempView(name)
    sql = " union all ".join(f"select {n} as one from {rows}{on}" for n, (rows, on) in enumerate(CASES))
    query = session.sql(sql).writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    plan = query._jsq.explainInternal(False)
    joins = re.findall(r"state cleanup \[ left(.*?), right(.*?) \]", plan)
    words = {(True, True): BOTH, (True, False): LEFT, (False, True): RIGHT, (False, False): NEITHER}
    return [words[left.endswith("= null"), right.endswith("= null")] for left, right in joins]


@pytest.mark.long
def test_the_compiler_knows_which_rows_spark_keeps(first_spark, tmp_path):
    compiled, run = said_by_the_compiler(tmp_path / "project"), said_by_spark(first_spark, tmp_path)
    assert len(run) == len(CASES)
    different = [
        (relations + on, f"compiler: {one or 'none'}, Spark: {other or 'none'}")
        for (relations, on), one, other in zip(CASES, compiled, run, strict=True)
        if one != other
    ]
    assert different == []
