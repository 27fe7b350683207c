"""Runs that read a topic after its history, and are killed: each row is in each topic and table once.

`MILLSTREAM_HISTORY_KILLS=50 uv run pytest -m long framework/tests/crash/test_histories_read_by_killed_runs.py` is longer.
"""

import json
import os
import random
import time
from collections import Counter

import pytest
from engine.test_histories import MINUTES as CLOSED
from engine.test_histories import PLAIN, TOTALS, plain_rows, stored_totals, totals_of, windows
from support.commands import PATIENCE, Run, succeed
from support.committed_records import committed
from support.histories import append_history, forget, send_events
from support.runs import create_topics, table_rows
from support.shops import Shop

from millstream.local.broker import keep_broker, stop_broker

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_HISTORY_KILLS", "4"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
PROFILES = """
shop: {target: local, outputs: {local: {
  master: "local[2]", kafka: embedded, trigger: 200 milliseconds, guarantee: exactly_once,
  spark: {spark.sql.shuffle.partitions: 2}}}}
"""
MODELS = {
    "plain": PLAIN,
    "totals": TOTALS,
    "minutes": CLOSED,
    "stored": "{{ config(materialized='table') }} select _offset as number from {{ source('web', 'events') }}",
}


@pytest.fixture
def web(tmp_path):
    broker = keep_broker(tmp_path)
    shop = Shop(tmp_path, broker.address)
    create_topics(shop.bootstrap, "events", partitions=1)
    shop.write("profiles.yml", PROFILES)
    shop.source(history="{delta_table: old}")
    for name, sql in MODELS.items():
        shop.model(name, sql)
    yield shop
    stop_broker(tmp_path, force=True)


def wait_for(run, file):
    """Wait until the checkpoint of a query has a file."""
    run.until("Spark")
    deadline = time.monotonic() + 5 * PATIENCE
    while not any(run.root.glob(f".millstream/local/checkpoints/*/*/{file}")):
        assert time.monotonic() < deadline, f"no checkpoint has {file}: {run.output}"
        run.go_on(0.005)


def test_each_row_is_there_once(web):
    dice, count = random.Random(SEED), 400
    append_history(web, *range(300))
    send_events(web, *range(count))
    forget(web, 250)
    for kill in range(KILLS):
        run = Run(web.root)
        run.root = web.root
        try:
            match kill:
                case 0:  # the batch of the history has begun
                    wait_for(run, "offsets/0")
                case 1:  # and is done
                    wait_for(run, "commits/0")
                case _:
                    run.until("started")
                    more = dice.randrange(1, 50)
                    send_events(web, *range(count, count + more))
                    count += more
                    run.go_on(dice.uniform(0, 4))
        finally:
            run.kill(with_children=dice.random() < 0.5)
    succeed(web.root, "build")
    numbers = range(count)
    values = {
        topic: [json.loads(r.value()) for r in committed(web.bootstrap, topic)]
        for topic in ("plain", "minutes")
    }
    assert Counter((r["id"], r["user"], r["value"]) for r in values["plain"]) == plain_rows(numbers)
    assert Counter((r["minute"], r["events"], r["total"]) for r in values["minutes"]) == windows(numbers)
    assert stored_totals(web) == totals_of(numbers)
    assert sorted(r["number"] for r in table_rows(web.root, "model.stored")) == [*numbers]
