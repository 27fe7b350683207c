"""Topics of tables: the newest record of each key equals the table, and nothing is sent that did not change."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import duckdb
import pytest
from support.runs import built, errors, received, statuses, table_rows
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh, Update
from millstream.queries.verdict import AcceptedModels

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

LATEST = """
    {{ config(materialized='table', unique_key='id', delete_when="kind = 'gone'") }}
    select id, user, kind, value from {{ source('web', 'events') }}
"""
KINDS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, count(*) as n, max(value) as most from {{ ref('latest') }} group by kind
"""
LARGE = """
    {{ config(materialized='sink', key='id') }}
    select id, upper(user) as user, kind from {{ ref('latest') }} where value > 1
"""
OFTEN = "{{ config(materialized='sink', key='kind') }} select kind, n from {{ ref('kinds') }} where n > 1"
SAME = "{{ config(materialized='table', unique_key='id') }} select id, kind, value from {{ ref('latest') }}"


class Events:
    """Random changes of few rows, and the rows that result from them."""

    def __init__(self, shop, seed):
        self.shop, self.random, self.rows = shop, Random(seed), {}

    def send(self, count):
        events = []
        for _ in range(count):
            number, kind = self.random.randrange(12), self.random.choice(["a", "b", "c", "gone"])
            user, value = self.random.choice("xyz"), float(self.random.randrange(4))
            events.append((user, {"id": number, "kind": kind, "value": value}))
            if kind == "gone":
                self.rows.pop(number, None)
            else:
                self.rows[number] = (user, kind, value)
        self.shop.send(*events)

    def query(self, sql):
        """Return what DuckDB answers over the rows of `latest`."""
        database = duckdb.connect()
        database.execute("create table latest (id int, user_ text, kind text, value double)")
        for number, row in self.rows.items():
            database.execute("insert into latest values (?, ?, ?, ?)", [number, *row])
        return database.execute(sql).fetchall()


def newest(records):
    """Return the value of each key, as a reader of a compacted topic sees it."""
    values = {}
    for record in records:
        values[record.key()] = record.value() and json.loads(record.value())
    return {key: value for key, value in values.items() if value is not None}


def check(shop, events, *, killed=False):
    """Compare all topics with DuckDB; without kills, no record repeats the one before it."""
    large = events.query("select id, upper(user_), kind from latest where value > 1")
    often = events.query("select kind, count(*) from latest group by kind having count(*) > 1")
    topics = {name: received(shop.bootstrap, name) for name in ("large", "often")}
    assert newest(topics["large"]) == {
        str(number).encode(): {"id": number, "user": user, "kind": kind} for number, user, kind in large
    }
    assert newest(topics["often"]) == {kind.encode(): {"kind": kind, "n": n} for kind, n in often}
    if killed:
        return
    for name, records in topics.items():
        last = {}
        for record in records:
            if record.key() in last:
                assert last[record.key()] != record.value(), (
                    f"{name} repeats {record.key()}: {record.value()}"
                )
            last[record.key()] = record.value()


def same(shop):
    return {(row["id"], row["kind"], row["value"]) for row in table_rows(shop.root, "model.same")}


def build(shop, spark, *models, **options):
    only = frozenset(f"model.{name}" for name in models) if models else None
    results, events = built(shop.root, spark, models=only, **options)
    assert not errors(events), errors(events)
    assert set(statuses(results).values()) == {"success"}


def test_the_newest_record_of_each_key_equals_the_table(shop, first_spark):
    for name, sql in {"latest": LATEST, "kinds": KINDS, "large": LARGE, "often": OFTEN, "same": SAME}.items():
        shop.model(name, sql)
    events = Events(shop, 1)
    events.send(20)
    build(shop, first_spark)
    check(shop, events)
    for _ in range(2):
        # The tables change several times until the topics follow.
        for _ in range(3):
            events.send(15)
            build(shop, first_spark, "latest")
            build(shop, first_spark, "kinds")
        build(shop, first_spark, "large", "often", "same")
        check(shop, events)
        assert same(shop) == set(events.query("select id, kind, value from latest"))
    # A column that the sinks don't select.
    counts = [len(received(shop.bootstrap, name)) for name in ("large", "often")]
    number, (user, kind, value) = next(row for row in events.rows.items() if row[1][2] > 1)
    shop.send((user, {"id": number, "kind": kind, "value": value + 1}))
    build(shop, first_spark)
    assert counts == [len(received(shop.bootstrap, name)) for name in ("large", "often")]


def test_after_an_accepted_edit_each_changed_row_replaces_the_record_of_the_earlier_sql(shop, first_spark):
    shop.model("latest", LATEST)
    shop.model("large", LARGE)
    shop.send(*(("x", {"id": number, "kind": "a", "value": 2.0}) for number in range(3)))
    build(shop, first_spark)
    shop.model("large", LARGE.replace("value > 1", "value > 3").replace("upper(user)", "lower(user)"))
    # By the new SQL, the first two rows have no record before this change, and none after it.
    shop.send(("x", {"id": 0, "kind": "b", "value": 2.0}), ("x", {"id": 1, "kind": "gone", "value": 2.0}))
    build(shop, first_spark, intent=Update(accepted=AcceptedModels(everything=True)))
    assert newest(received(shop.bootstrap, "large")) == {b"2": {"id": 2, "user": "X", "kind": "a"}}
    build(shop, first_spark, "large", intent=FullRefresh())
    assert newest(received(shop.bootstrap, "large")) == {}


def test_a_row_that_a_test_kept_out_is_deleted_with_the_record_that_it_had(shop, first_spark):
    shop.model("latest", LATEST)
    shop.model("large", LARGE)
    shop.write(
        "models/large.yml",
        """
        models: [{name: large, columns: [{name: kind, tests: [
          {accepted_values: {values: [a], severity: drop}}
        ]}]}]
        """,
    )
    for kind in ("a", "b", "gone"):
        shop.send(*(("x", {"id": number, "kind": kind, "value": 2.0}) for number in range(2)))
        build(shop, first_spark)
        expected = {} if kind == "gone" else {b"0": "a", b"1": "a"}
        assert {
            key: row["kind"] for key, row in newest(received(shop.bootstrap, "large")).items()
        } == expected


@pytest.mark.parametrize("moment", ["before", "during", "after"])
def test_a_killed_build_leaves_a_topic_that_the_next_one_continues(shop, first_spark, moment):
    for name, sql in {"latest": LATEST, "kinds": KINDS, "large": LARGE, "often": OFTEN}.items():
        shop.model(name, sql)
    events = Events(shop, 2)
    for first in (True, False):
        events.send(20)
        build(shop, first_spark, "latest", "kinds")
        if not first:
            kill(shop, "large", moment)
            events.send(10)  # The batch runs again over the versions that it had.
        build(shop, first_spark)
        check(shop, events, killed=not first)


def kill(shop, model, moment):
    folder = Path(__file__).parents[1]
    killed = subprocess.run(
        [sys.executable, "-m", "maintained.killed_topics", str(shop.root), model, moment],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, start_new_session=True, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
