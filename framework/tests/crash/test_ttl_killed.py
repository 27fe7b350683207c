"""State with a `ttl` by event time, of a function and of a join, while `millstream run` is killed: rows as without.

`MILLSTREAM_TTL_KILLS=50 MILLSTREAM_SEED=7 uv run pytest -m long framework/tests/crash/test_ttl_killed.py` is longer.
"""

import os
import random
from datetime import datetime, timedelta, timezone

import duckdb
import pytest
from support.commands import Run, succeed
from support.runs import create_topics, send

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_TTL_KILLS", "5"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
PER_ROUND = 60
"""Records of each topic that are sent before each kill."""
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
TTL = timedelta(minutes=30)
PROFILES = """
    shop:
      target: local
      outputs:
        local:
          master: local[2]
          kafka: embedded
          trigger: 200 milliseconds
          spark: {spark.sql.shuffle.partitions: 2}
"""
HITS = """
      - name: hits
        key: {name: user, type: string}
        columns: [{name: hit, type: int}, {name: seen, type: timestamp}]
        watermark: {column: seen, delay: 1 minute}
"""
VISITS = """
    from dataclasses import dataclass
    from typing import Iterator

    @dataclass
    class Event:
        id: int

    @dataclass
    class State:
        ids: str = ""

    def visits(key: str, rows: Iterator[Event], state: State) -> Iterator[str]:
        for row in rows:
            state.ids += f" {row.id}"
            yield state.ids
"""
MODELS = {
    "visited": "{{ config(materialized='sink', state={'ttl': '30 minutes', 'ttl_by': 'event_time'}) }} "
    "select v.value as ids from {{ source('web', 'events') }} as e, lateral visits(e.user) as v",
    "pairs": "{{ config(materialized='sink', state={'ttl': '30 minutes'}) }} select e.id, h.hit "
    "from {{ source('web', 'events') }} as e join {{ source('web', 'hits') }} as h on e.user = h.user",
}


@pytest.fixture
def shop(durable_shop):
    shop = durable_shop
    shop.write("profiles.yml", PROFILES)
    shop.more(HITS)
    shop.write("macros/visits.py", VISITS)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    create_topics(shop.bootstrap, "events", "hits", partitions=1)
    return shop


class Traffic:
    """Events and hits of three users, in the order of their times."""

    def __init__(self, bootstrap, dice):
        self.bootstrap = bootstrap
        self.dice = dice
        self.time = START
        self.events = []
        self.hits = []

    def more(self):
        records = {"events": [], "hits": []}
        for _ in range(PER_ROUND):
            for topic, sent in (("events", self.events), ("hits", self.hits)):
                self.time += timedelta(seconds=self.dice.choice((10, 100, 1000)))
                user, number, timestamp = (
                    self.dice.choice("abc"),
                    len(sent),
                    f"{self.time:%Y-%m-%dT%H:%M:%SZ}",
                )
                sent.append((user, number, self.time))
                names = ("id", "at") if topic == "events" else ("hit", "seen")
                records[topic].append((user, dict(zip(names, (number, timestamp), strict=True))))
        send(self.bootstrap, records)


def test_rows_are_those_of_a_run_that_was_not_killed(shop):
    dice = random.Random(SEED)
    traffic = Traffic(shop.bootstrap, dice)
    for _ in range(KILLS):
        run = Run(shop.root)
        try:
            run.until("started")
            for _ in range(dice.randrange(1, 5)):
                traffic.more()
                run.go_on(dice.uniform(0, 3))
            run.until("batch")
        finally:
            run.kill(with_children=True)
    traffic.more()
    succeed(shop.root, "build")
    assert {row["ids"] for row in shop.values("visited")} == expected_visits(traffic.events)
    pairs = {(row["id"], row["hit"]) for row in shop.values("pairs")}
    assert pairs == expected_pairs(traffic)
    assert len(pairs) > 50


def expected_visits(events):
    seen, last, visits = {}, {}, set()
    for user, number, time in events:
        if user in last and time - last[user] > TTL:
            seen.pop(user)
        last[user], seen[user] = time, f"{seen.get(user, '')} {number}"
        visits.add(seen[user])
    return visits


def expected_pairs(traffic):
    duck = duckdb.connect()
    for name in ("events", "hits"):
        duck.execute(f"create table {name} (name text, id int, time timestamptz)")
        duck.executemany(f"insert into {name} values (?, ?, ?)", getattr(traffic, name))
    near = f"abs(epoch(e.time) - epoch(h.time)) <= {TTL.total_seconds()}"
    return set(
        duck.sql(f"select e.id, h.id from events e join hits h on e.name = h.name and {near}").fetchall()
    )
