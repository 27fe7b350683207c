"""State of Python functions that ends by event time: in one batch or many, as plain Python computes it."""

import random
from datetime import datetime, timedelta, timezone

import pytest
from support.micro_batches import decoded, streamed
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.engine.python.keyed import StateExpiry
from millstream.runner.samples.trial import as_stream

pytestmark = SPARK_WARNINGS

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
TTL = timedelta(minutes=30)
MODEL = """
{{ config(materialized='sink', topic='m', state={'ttl': '30 minutes', 'ttl_by': 'event_time'}) }}
select v.user_id, v.visit from {{ source('shop', 'events') }} as e, lateral visits(e.user_id) as v
"""
VISITS = """
from dataclasses import dataclass
from typing import Iterator

@dataclass
class Event:
    amount: int

@dataclass
class State:
    amounts: str = ""

@dataclass
class Visit:
    user_id: str
    visit: str

def visits(key: str, rows: Iterator[Event], state: State) -> Iterator[Visit]:
    for row in rows:
        state.amounts += f" {row.amount}"
        yield Visit(key, state.amounts)
"""


def events(seed):
    """Return users, numbers and times, in the order of the times, which some rows don't have."""
    dice = random.Random(seed)
    times = sorted(START + timedelta(seconds=dice.randrange(12 * 3600)) for _ in range(120))
    return [
        (dice.choice("abc"), number, None if dice.random() < 0.1 else time)
        for number, time in enumerate(times)
    ]


def visits(arrivals):
    """Compute each row's visit, and how many visits end if there are no more rows."""
    seen, last, visit_rows, ended = {}, {}, [], 0
    for user, number, time in arrivals:
        if time is None:
            visit_rows.append((user, f" {number}"))
            continue
        if user in last and time - last[user] > TTL:
            seen.pop(user)
            ended += 1
        last[user] = time
        seen[user] = f"{seen.get(user, '')} {number}"
        visit_rows.append((user, seen[user]))
    return sorted(visit_rows), ended + len(seen)


def batches(arrivals, count):
    """Split rows into batches; later ones are after the end of each visit."""
    size = -(-len(arrivals) // count)
    rows = [
        {"_key": user, "amount": number} | ({"at": f"{time:%Y-%m-%dT%H:%M:%S}Z"} if time else {})
        for user, number, time in arrivals
    ]
    later = [{"_key": "z", "amount": 0, "at": f"{START + timedelta(days=2):%Y-%m-%dT%H:%M:%S}Z"}]
    return [*(rows[start : start + size] for start in range(0, len(rows), size)), later, later, later]


@pytest.mark.parametrize(
    ("target", "count"),
    [
        ("all", 4),
        *(pytest.param(*case, marks=pytest.mark.long) for case in [("plain", 1), ("all", 1), ("all", 25)]),
    ],
)
@pytest.mark.long
def test_visits_end_by_event_time_and_each_end_is_counted(spark, tmp_path, target, count):
    arrivals = events(seed=7)
    project(tmp_path, {"m": MODEL})
    (tmp_path / "macros/visits.py").write_text(VISITS)
    run = streamed(tmp_path, target)
    query = run.query_of("m")
    result = as_stream(spark, run.trial(query, {"events": batches(arrivals, count)}, {}), "spark.log")
    got = sorted((row["user_id"], row["visit"]) for _, row in decoded(result) if row["user_id"] != "z")
    expected, ended = visits(arrivals)
    assert got == expected
    assert result.expired == ended > 10


def test_a_life_ends_a_ttl_after_its_last_row():
    lives = StateExpiry(None, 10)
    times = (0, 10, 20, 15, 26, 37, None, None, 47, 58)
    assert [lives([time]) for time in times] == [0, 0, 0, 0, 0, 1, -1, -2, 1, 2]
    assert lives.expires == 68
    assert StateExpiry(5, 10)([6]) == 1


def signature(tmp_path, state):
    project(tmp_path, {"m": MODEL.replace("{'ttl': '30 minutes', 'ttl_by': 'event_time'}", state)})
    (tmp_path / "macros/visits.py").write_text(VISITS)
    return streamed(tmp_path).query_of("m").signature.operators[0].facts


def test_another_time_to_expire_by_is_another_state(tmp_path):
    by_event = signature(tmp_path, "{'ttl': '30 minutes', 'ttl_by': 'event_time'}")
    by_clock = signature(tmp_path, "{'ttl': '30 minutes'}")
    assert by_event != by_clock
    assert signature(tmp_path, "{'ttl': '30 minutes', 'ttl_by': 'processing_time'}") == by_clock
    assert signature(tmp_path, "{'ttl': '1 hour', 'ttl_by': 'event_time'}") != by_event
