"""Topics of groups whose condition can become false again, while `millstream run` is killed: no needless tombstone.

`MILLSTREAM_TOMBSTONE_KILLS=50 MILLSTREAM_SEED=7 uv run pytest -m long framework/tests/crash/test_tombstones_killed.py`
is longer.
"""

import os
from random import Random

import pytest
from engine.test_tombstones_of_groups import CONDITIONS, PROFILES, Groups, needless, write_models
from support.commands import Run, succeed
from support.committed_records import committed
from support.runs import create_topics, headers

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_TOMBSTONE_KILLS", "4"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
EXACT = {name: CONDITIONS[name] for name in ("few", "low", "near", "whole", "texts", "exact")}
"""Conditions whose aggregates are the same in any order of rows."""


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
def test_each_tombstone_deletes_a_record_although_runs_are_killed(durable_shop, guarantee):
    shop, dice = durable_shop, Random(SEED)
    create_topics(shop.bootstrap, "events")
    profiles = PROFILES.format(guarantee=guarantee, optimization="all")
    shop.write(
        "profiles.yml",
        profiles.replace("kafka: embedded", "kafka: embedded\n          trigger: 200 milliseconds"),
    )
    write_models(shop, EXACT)
    groups = Groups(dice)
    for _ in range(KILLS):
        run = Run(shop.root)
        try:
            run.until("started")
            for _ in range(dice.randrange(2, 6)):
                send_batch(shop, groups, dice.randrange(1, 30))
                run.go_on(dice.uniform(0, 2))
            run.until("batch")
            send_batch(shop, groups, 12)
            run.go_on(dice.uniform(0, 1))
        finally:
            run.kill(with_children=True)
    send_batch(shop, groups, 12)
    succeed(shop.root, "build")
    for name, (_, holds) in EXACT.items():
        records = first_sent(committed(shop.bootstrap, name))
        newest = dict(records)
        assert {user for user, has_value in newest.items() if has_value} == {
            user for user, rows in groups.rows.items() if holds(user, rows)
        }, name
        assert needless(records) == 0, name
        assert any(not has_value for _, has_value in records) or name == "exact", name


def send_batch(shop, groups, size):
    shop.send(*((row["user"], row) for row in groups.batch(size)))


def first_sent(records):
    """Return keys, and whether they have a value, without what a repeated batch sent again."""
    sent = {}
    for record in records:
        batch = headers(record)["millstream.batch"]
        sent.setdefault((record.key(), batch), (record.key().decode(), record.value() is not None))
    return list(sent.values())
