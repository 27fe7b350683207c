"""Models over models with state, on Kafka, Spark and Delta in several builds, against plain Python."""

from collections import Counter, defaultdict
from datetime import datetime, timedelta, timezone

import pytest
from support.long import WAYS
from support.runs import built, errors, job_of, table_rows
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
DELAY = 5
SOURCES = f"""
    sources:
      - name: web
        topics:
          - name: events
            key: {{name: user, type: string}}
            columns:
              - {{name: id, type: int}}
              - {{name: kind, type: string}}
              - {{name: value, type: int}}
              - {{name: at, type: timestamp}}
            watermark: {{column: at, delay: {DELAY} seconds}}
"""
BUILDS = [
    [
        (1, "x", 1, 1),
        (2, "y", 2, 2),
        (3, "x", 3, 9),
        (4, "z", 90, 14),
        (5, "x", 4, 12),
        (6, "y", 5, 18),
        (7, "x", 6, 33),
    ],
    # Event 8 is late: its windows have closed. Event 9 alone moves the watermark, and no filter keeps it.
    [(8, "x", 7, 3), (10, "y", 8, 41), (9, "z", 99, 95)],
    [(11, "x", 9, 97), (12, "z", 95, 200)],
]
"""Of each event: id, kind, value, second."""

EVENTS = "{{ source('web', 'events') }}"
COUNTS = f"""
    select kind, window, window.start as opened, count(*) as n from {EVENTS}
    where kind <> 'z' group by kind, window(at, '10 seconds')
"""
MODELS = {
    "counts": "{{ config(emit='on_close') }}" + COUNTS,
    "stored": "{{ config(materialized='sink', emit='on_close') }}" + COUNTS,
    # A refining aggregate above closing windows, as a view and through their topic.
    "sums": """{{ config(materialized='table', unique_key='opened') }}
        select opened, sum(n) as total, count(*) as windows from {{ ref('counts') }} group by opened""",
    "stored_sums": """{{ config(materialized='table', unique_key='opened') }}
        select opened, sum(n) as total, count(*) as windows from {{ ref('stored') }} group by opened""",
    # A second watermark, above closing windows.
    "minutes": """{{ config(materialized='sink', key='minute') }}
        select window.start as minute, max(n) as most, count(*) as windows from
          (select opened, n from {{ ref('counts') }}) watermark opened delay of interval 10 seconds
        group by window(opened, '1 minute')""",
    # Windows over closed windows.
    "halves": """{{ config(materialized='sink', emit='on_close') }}
        select window(window_time(window), '30 seconds').start as half, sum(n) as total from {{ ref('counts') }}
        group by window(window_time(window), '30 seconds')""",
    "stored_halves": """{{ config(materialized='sink', emit='on_close') }}
        select window(window_time(window), '30 seconds').start as half, sum(n) as total from {{ ref('stored') }}
        group by window(window_time(window), '30 seconds')""",
    # Nexmark's query 5: the kind with the most events of each sliding window.
    "sliding": f"""{{{{ config(emit='on_close') }}}}
        select kind, window, count(*) as n from {EVENTS}
        where kind <> 'z' group by kind, window(at, '20 seconds', '10 seconds')""",
    "most": """{{ config(emit='on_close') }}
        select window, max(n) as n from {{ ref('sliding') }} group by window""",
    "hottest": """{{ config(materialized='sink') }}
        select s.window.start as opened, s.kind, s.n from {{ ref('sliding') }} as s
        join {{ ref('most') }} as m on s.window = m.window and s.n = m.n""",
    # A data test that keeps rows out of a topic, which is read back.
    "checked": f"{{{{ config(materialized='sink') }}}} select id, kind, value from {EVENTS}",
    "checked_sums": """{{ config(unbounded_state="accept", materialized='table', unique_key='kind') }}
        select kind, sum(value) as total from {{ ref('checked') }} group by kind""",
}
TESTS = """
    models:
      - name: checked
        columns:
          - name: value
            tests: [{expression: {expression: "value < 90", severity: drop}}]
"""


def second(number):
    return START + timedelta(seconds=number)


def closed(length, slide=None):
    """Return how many events each kind has in each window that closed, by its start in seconds."""
    slide = slide or length
    counts, watermark = Counter(), -1
    for rows in BUILDS:
        for _, kind, _, seconds in rows:
            first = seconds - seconds % slide
            for start in range(first, first - length, -slide):
                if kind != "z" and start + length > watermark:
                    counts[kind, start] += 1
        watermark = max(watermark, *(seconds - DELAY for *_, seconds in rows))
    return {key: n for key, n in counts.items() if key[1] + length <= watermark}


def project(shop, **target):
    message = ", ".join(f"{name}: {value}" for name, value in target.items())
    shop.write("profiles.yml", f"shop: {{target: local, outputs: {{local: {{master: 'local[2]', kafka: embedded, {message}}}}}}}")  # fmt: skip
    shop.write("models/sources.yml", SOURCES)
    shop.write("models/tests.yml", TESTS)
    for name, sql in MODELS.items():
        shop.model(name, sql)


def build_all(shop, spark):
    for rows in BUILDS:
        shop.send(
            *(("u", {"id": id_, "kind": kind, "value": value, "at": second(seconds).isoformat()}) for id_, kind, value, seconds in rows)
        )  # fmt: skip
        _, events = built(shop.root, spark)
        assert errors(events) == []


def newest(values, key):
    return {row[key]: row for row in values}


def starts(values, name):
    return Counter(
        (int((datetime.fromisoformat(row[name]) - START).total_seconds()), *rest)
        for row in values
        for rest in [tuple(v for k, v in sorted(row.items()) if k not in {name, "window"})]
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "target",
    [{"optimization": way, "grouping": grouping} for way, grouping in WAYS],
    ids=[way for way, _ in WAYS],
)  # fmt: skip
def test_states_above_states(shop, first_spark, target):
    project(shop, **target)
    build_all(shop, first_spark)

    counts = closed(10)
    assert starts(shop.values("stored"), "opened") == Counter(
        {(start, kind, n): 1 for (kind, start), n in counts.items()}
    )
    sums = defaultdict(list)
    for (_, start), n in counts.items():
        sums[second(start)].append(n)
    expected = {opened: (sum(counts), len(counts)) for opened, counts in sums.items()}
    for model in ("sums", "stored_sums"):
        stored_totals = {
            row["opened"]: (row["total"], row["windows"]) for row in table_rows(shop.root, f"model.{model}")
        }
        assert stored_totals == expected, model

    minutes = newest(shop.values("minutes"), "minute")
    by_minute = defaultdict(list)
    for (_, start), n in counts.items():
        by_minute[second(start - start % 60)].append(n)
    assert {datetime.fromisoformat(m): (r["most"], r["windows"]) for m, r in minutes.items()} == {
        minute: (max(counts), len(counts)) for minute, counts in by_minute.items()
    }

    halves = Counter()
    for (_, start), n in counts.items():
        halves[start - start % 30] += n
    # Halves close by the watermark of the events; through the topic, by that of the windows in it.
    assert starts(shop.values("halves"), "half") == Counter(
        {(start, n): 1 for start, n in halves.items() if start + 30 <= 200 - DELAY}
    )
    last = max(start + 10 for _, start in counts)
    assert starts(shop.values("stored_halves"), "half") == Counter(
        {(start, n): 1 for start, n in halves.items() if start + 30 <= last - DELAY}
    )

    sliding = closed(20, 10)
    most = defaultdict(int)
    for (_, start), n in sliding.items():
        most[start] = max(most[start], n)
    assert starts(shop.values("hottest"), "opened") == Counter(
        {(start, kind, n): 1 for (kind, start), n in sliding.items() if most[start] == n}
    )

    passed = [(kind, value) for rows in BUILDS for _, kind, value, _ in rows if value < 90]
    assert Counter((row["kind"], row["value"]) for row in shop.values("checked")) == Counter(passed)
    totals = Counter()
    for kind, value in passed:
        totals[kind] += value
    stored_totals = {row["kind"]: row["total"] for row in table_rows(shop.root, "model.checked_sums")}
    assert stored_totals == dict(totals)


def test_what_a_cut_needs_is_a_topic_of_its_own(shop):
    project(shop)
    queries = {query.name: query for query in job_of(shop.root).physical.queries}
    assert [source.stream for source in queries["sums"].sources] == ["_millstream.shop.counts"]
    assert [source.stream for source in queries["stored_sums"].sources] == ["stored"]
    assert all(
        not {"sums", "counts"} <= {m.removeprefix("model.") for m in q.models} for q in queries.values()
    )
