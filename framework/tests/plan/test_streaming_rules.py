"""Each cell of the table of what may follow what: as the compiler plans it, and as Spark runs it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest
from pyspark.errors import PySparkException
from support.long import BUILDS
from support.micro_batches import attempted, streamed
from support.sql_plans import project

from millstream.cli.streaming import describe_steps
from millstream.plan.streaming import STEPS

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
EVENTS = "{{ source('shop', 'events') }}"
HITS = "{{ source('shop', 'hits') }}"
PLANS = "{{ source('shop', 'plans') }}"
VERSIONS = """      - name: plans
        table: true
        versions: 30 days
        key: {name: user, type: string}
        columns: [{name: plan, type: string}, {name: since, type: timestamp}]
        watermark: {column: since, delay: 10 seconds}
"""
FUNCTION = """
from dataclasses import dataclass
from typing import Iterator, NamedTuple, TypedDict


class Event(NamedTuple):
    value: float | None


class State(TypedDict, total=False):
    n: int


@dataclass
class Seen:
    user_id: str | None
    n: int


def seen(key: str | None, rows: Iterator[Event], state: State) -> Iterator[Seen]:
    for _ in rows:
        state["n"] = state.get("n", 0) + 1
        yield Seen(key, state["n"])
"""
BETWEEN = "h.seen between l.t - interval 10 seconds and l.t + interval 10 seconds"
LOWER = {
    "watermark": f"select user_id, at as t, value from {EVENTS}",
    "closing aggregate": "{{ config(emit='on_close') }}\n"
    f"select user_id, window_time(window) as t, max(value) as value from {EVENTS} group by user_id, window(at, '10 seconds')",
    "refining aggregate": f"select user_id, window.start as t, max(value) as value from {EVENTS} group by user_id, window(at, '10 seconds')",
    "dedupe": "{{ config(dedupe={'keys': ['user_id', 't'], 'within': '1 minute'}) }}\n"
    f"select user_id, at as t, value from {EVENTS}",
    "bounded join": f"select l.user_id, l.t, l.value from (select user_id, at as t, value from {EVENTS}) as l join {HITS} as h on h.visitor = l.user_id and {BETWEEN}",
    "unbounded join": f"select l.user_id, l.t, l.value from (select user_id, at as t, value from {EVENTS}) as l join {HITS} as h on h.visitor = l.user_id",
    "outer join": f"select l.user_id, l.t, l.value from (select user_id, at as t, value from {EVENTS}) as l left join {HITS} as h on h.visitor = l.user_id and {BETWEEN}",
    "temporal join": f"select l.user_id, l.t, l.value from (select user_id, at as t, value from {EVENTS}) as l left join {PLANS} for system_time as of l.t as p on p.user = l.user_id",
    "keyed function": f"select s.user_id, timestamp_seconds(1704067200 + s.n) as t, cast(s.n as double) as value from {EVENTS} as e, lateral seen(e.user_id) as s",
}
UPPER = {
    "watermark": "select window.start as s, count(*) as n from (select user_id, cast(t as string) as k, t + interval 0 seconds as t from {of}) watermark t delay of interval 1 second group by window(t, '1 minute')",
    "closing aggregate": "select window.start as s, count(*) as n from {of} group by window(t, '1 minute')",
    "refining aggregate": "select user_id, count(*) as n from {of} group by user_id",
    "dedupe": "select user_id, t, value from {of}",
    "bounded join": "select l.user_id, l.value, h.path from {of} as l join " + HITS + " as h on h.visitor = l.user_id and " + BETWEEN,
    "unbounded join": "select l.user_id, l.value, h.path from {of} as l join " + HITS + " as h on h.visitor = l.user_id",
    "outer join": "select l.user_id, l.value, h.path from {of} as l left join " + HITS + " as h on h.visitor = l.user_id and " + BETWEEN,
    "temporal join": "select l.user_id, l.t, l.value, p.plan from {of} as l join " + PLANS + " for system_time as of l.t as p on p.user = l.user_id",
    "keyed function": "select s.user_id, s.n from {of} as l, lateral seen(l.user_id) as s",
}  # fmt: skip
OPTIONS = {
    "watermark": "key='s'",
    "closing aggregate": "emit='on_close'",
    "refining aggregate": "key='user_id'",
    "dedupe": "dedupe={'keys': ['user_id', 'value']}",
}
NO_EVENT_TIME = {
    ("keyed function", "closing aggregate"): "MS512",
    ("keyed function", "outer join"): "MS515",
    ("keyed function", "temporal join"): "MS690",
}
"""What the table does not say: rows of a Python function have no event time."""
CELLS = [(below, above) for below in STEPS for above in STEPS]


def models(cells):
    sql_of = {name_of("lower", below): LOWER[below] for below, _ in cells}
    for below, above in cells:
        of = f"{{{{ ref('{name_of('lower', below)}') }}}}"
        if (below, above) == ("watermark", "watermark"):
            of = f"(select user_id, t from {of}) watermark t delay of interval 9 seconds"
            sql = f"select window.start as s, count(*) as n from {of} group by window(t, '1 minute')"
        else:
            sql = UPPER[above].replace("{of}", of)
        options = ", ".join(filter(None, ["materialized='sink'", OPTIONS.get(above)]))
        sql_of[name_of(below, above)] = f"{{{{ config({options}) }}}}\n{sql}"
    return sql_of


def written(folder, cells):
    root = project(folder, models(cells))
    (root / "macros/seen.py").write_text(FUNCTION)
    sources = root / "models/sources.yml"
    sources.write_text(sources.read_text() + VERSIONS)
    return root


def name_of(below, above):
    return f"{below} {above}".replace(" ", "_")


def found_codes(root):
    _, errors = attempted(root)
    codes = {}
    for diagnostic in errors:
        codes.setdefault(diagnostic.location.path.removeprefix("models/").removesuffix(".sql"), set()).add(
            diagnostic.code
        )
    return codes


def test_the_compiler_does_what_the_table_says(tmp_path):
    root = written(tmp_path, CELLS)
    codes = found_codes(root)
    expected = {}
    for below, above in CELLS:
        message = NO_EVENT_TIME.get((below, above)) or describe_steps(below, above)
        if message.startswith("MS"):
            expected[name_of(below, above)] = {message}
    # A watermark over rows that change is refused by what would keep a state of them.
    expected[name_of("refining aggregate", "watermark")] = {"MS510"}
    assert codes == expected
    accepted = [pair for pair in CELLS if name_of(*pair) not in expected]
    queries = streamed(written(tmp_path / "accepted", accepted)).physical.queries
    for below, above in accepted:
        (query,) = (
            q
            for q in queries
            if any(getattr(o, "model", "") == f"model.{name_of(below, above)}" for o in q.outputs)
        )
        relayed = any(topic.startswith("_millstream.") for topic in query.topics_read)
        assert relayed == (describe_steps(below, above) == "through a topic"), (below, above)


CLOSED_COUNTS = (
    "{{ config(emit='on_close') }}\nselect user_id, window, count(*) as n from "
    + EVENTS
    + " group by user_id, window(at, '10 seconds')"
)
REFUSED = {
    "expression": ("MS512", "{{ config(materialized='sink', emit='on_close') }}\nselect user_id, count(*) as n from " + EVENTS + " group by user_id, window(date_trunc('hour', at), '1 hour')"),
    "bounds": ("MS515", "{{ config(materialized='sink') }}\nselect c.user_id, h.path from {{ ref('counts') }} as c left join " + HITS + " as h on c.user_id = h.visitor and h.seen >= c.window.start and h.seen < c.window.end"),
    "on": ("MS437", "{{ config(materialized='sink') }}\nselect c.user_id from {{ ref('counts') }} as c join " + HITS + " as h on c.user_id = h.visitor and h.seen >= window_time(c.window)"),
    "grouping": ("MS437", "{{ config(materialized='sink', key='user_id') }}\nselect user_id, grouping(user_id) as g from " + EVENTS + " group by user_id"),
    "symmetric": ("MS437", "{{ config(materialized='sink') }}\nselect user_id from " + EVENTS + " where value between symmetric 3 and 1"),
    "path": ("MS407", "{{ config(materialized='sink') }}\nselect amount:a as x from " + EVENTS),
}  # fmt: skip


def test_what_spark_would_refuse_next_to_event_times(tmp_path):
    codes = found_codes(
        project(tmp_path, {"counts": CLOSED_COUNTS, **{name: sql for name, (_, sql) in REFUSED.items()}})
    )
    assert codes == {name: {code} for name, (code, _) in REFUSED.items()}


def rows(batch):
    """Return events, hits and plans of a minute of its own: those of the last one close all windows before."""
    times = [START + timedelta(minutes=batch, seconds=seconds) for seconds in (1, 2, 13)]
    events = [
        {"_key": user, "type": "x", "value": float(i), "at": time.isoformat()}
        for i, (user, time) in enumerate(zip("aba", times, strict=True))
    ]
    hits = [
        {"_key": user, "path": "/", "seen": time.isoformat()} for user, time in zip("ab", times, strict=False)
    ]
    plans = [{"_key": user, "plan": "free", "since": times[0].isoformat()} for user in "ab"]
    return events, hits, plans


@pytest.mark.long
@pytest.mark.parametrize("below", STEPS if BUILDS > 3 else STEPS[:2])
def test_spark_runs_what_the_compiler_lets_through(tmp_path, first_spark, below):
    cells = [(below, above) for above in STEPS if not describe_steps(below, above).startswith("MS")]
    cells = [
        pair for pair in cells if pair not in NO_EVENT_TIME and pair != ("refining aggregate", "watermark")
    ]
    if not cells:
        return
    compiled = streamed(written(tmp_path, cells))
    topics = dict(zip(("events", "hits", "plans"), zip(*map(rows, range(4)), strict=True), strict=True))
    for query in compiled.physical.queries:
        batches = {topic: topics[topic] for topic in query.topics_read}
        stored = compiled.run(first_spark, query, batches)
        assert stored, query.name
        for topic, row in stored:
            if topic.startswith("_millstream."):
                topics.setdefault(topic, []).append([row])


# -- why the table says so: what Spark does where the steps share a query

SCHEMA = "user_id string, value double, at timestamp"
CLOSED = "select user_id, window(at, '10 seconds') as w, count(*) as n from events watermark at delay of interval 1 second group by user_id, window(at, '10 seconds')"


def started(spark, tmp_path, views, sql, mode):
    folder = tmp_path / "events"
    folder.mkdir()
    for number in range(4):
        lines = [
            json.dumps({"user_id": event["_key"], "value": 1.0, "at": event["at"]})
            for event in rows(number)[0]
        ]
        (folder / f"{number}.json").write_text("\n".join(lines))
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", 1)
    reader = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    reader.json(str(folder)).createOrReplaceTempView("events")
    for name, text in views.items():
        session.sql(text).createOrReplaceTempView(name)
    collected = []
    writer = session.sql(sql).writeStream.outputMode(mode).trigger(availableNow=True)
    query = writer.foreachBatch(lambda batch, _: collected.extend(batch.collect())).start()
    query.awaitTermination()
    return [row.asDict() for row in collected]


def test_spark_refuses_refining_above_closing(first_spark, tmp_path):
    with pytest.raises(PySparkException, match="correctness"):
        started(
            first_spark,
            tmp_path,
            {"c": CLOSED},
            "select user_id, sum(n) as n from c group by user_id",
            "update",
        )


def test_spark_refuses_an_outer_join_in_update_mode(first_spark, tmp_path):
    joined = "select a.user_id from events watermark at delay of interval 1 second as a left join events watermark at delay of interval 1 second as b on a.user_id = b.user_id and a.at = b.at"
    with pytest.raises(PySparkException, match=r"LeftOuter join.*not supported in Update"):
        started(
            first_spark,
            tmp_path,
            {"j": joined},
            "select user_id, count(*) as n from j group by user_id",
            "update",
        )


def test_a_second_watermark_never_advances_in_spark(first_spark, tmp_path):
    sql = "select window(s, '1 minute') as m, sum(n) as n from (select w.start as s, n from c) watermark s delay of interval 1 second group by window(s, '1 minute')"
    assert started(first_spark, tmp_path, {"c": CLOSED}, sql, "append") == []
