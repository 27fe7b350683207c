"""Runs that store tables in databases, killed again and again: each record counts once.

`MILLSTREAM_DATABASE_KILLS=100 MILLSTREAM_SEED=7 uv run pytest -m long framework/tests/crash/test_databases_killed.py`
is a longer run.
"""

import os
import random
from collections import defaultdict
from functools import partial

import pytest
from support.commands import Run, succeed
from support.mariadb import rows as mariadb_rows
from support.postgres import rows as postgres_rows
from support.runs import create_topics, send

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_DATABASE_KILLS", "8"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
PER_ROUND = 60
STORES = ("postgres", "mysql")
PROFILES = """
shop:
  target: local
  outputs:
    local:
      master: "local[2]"
      kafka: embedded
      trigger: 200 milliseconds
      spark: {{spark.sql.shuffle.partitions: 2}}
      tables:
        url: "{postgres}"
        username: "{postgres_username}"
        password: "{{{{ env_var('POSTGRES_PASSWORD') }}}}"
        database_schema: "{postgres_schema}"
        mysql_url: "{mysql}"
        mysql_username: "{mysql_username}"
        mysql_password: "{{{{ env_var('MYSQL_PASSWORD') }}}}"
"""
EVENTS = "{{ source('web', 'events') }}"
TOTALS = (
    "{{ config(materialized='table', store='STORE', unique_key='user') }} "
    f"select user, count(*) as events, sum(id) as ids from {EVENTS} group by user"
)
RAW = f"{{{{ config(materialized='table', store='STORE') }}}} select id, user from {EVENTS}"


@pytest.fixture
def shop(durable_shop, postgres, mariadb, monkeypatch):
    monkeypatch.setenv("POSTGRES_PASSWORD", postgres.clear_password)
    monkeypatch.setenv("MYSQL_PASSWORD", mariadb.clear_password)
    profiles = PROFILES.format(
        postgres=postgres.url,
        postgres_username=postgres.username,
        postgres_schema=postgres.schema,
        mysql=mariadb.url,
        mysql_username=mariadb.username,
    )
    durable_shop.write("profiles.yml", profiles)
    for store in STORES:
        durable_shop.model(f"totals_{store}", TOTALS.replace("STORE", store))
        durable_shop.model(f"raw_{store}", RAW.replace("STORE", store))
    create_topics(durable_shop.bootstrap, "events")
    return durable_shop


def test_each_record_counts_once(shop, postgres, mariadb):
    dice, sent = random.Random(SEED), []
    for _ in range(KILLS):
        run = Run(shop.root)
        try:
            run.until("started")
            for _ in range(dice.randrange(1, 4)):
                send_more(shop, sent)
                run.go_on(dice.uniform(0, 3))
        finally:
            run.kill(with_children=dice.random() < 0.5)
    send_more(shop, sent)
    succeed(shop.root, "build")
    ids = defaultdict(list)
    for number in sent:
        ids[user_of(number)].append(number)
    totals = sorted((user, len(numbers), sum(numbers)) for user, numbers in ids.items())
    for store, rows in (
        ("postgres", partial(postgres_rows, postgres)),
        ("mysql", partial(mariadb_rows, mariadb)),
    ):
        assert sorted(rows(f"select id from raw_{store}")) == [(number,) for number in sent]
        assert sorted(rows(f'select "user", events, ids from totals_{store}')) == totals


def send_more(shop, sent):
    numbers = range(len(sent), len(sent) + PER_ROUND)
    records = [
        (user_of(n), {"id": n, "kind": "x", "value": 1.0, "at": "2026-01-01T00:00:00Z"}) for n in numbers
    ]
    send(shop.bootstrap, {"events": records})
    sent += numbers


def user_of(number):
    return f"u{number % 5}"
