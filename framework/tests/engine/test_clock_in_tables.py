"""Rows leave a table whose SQL reads the clock as time passes, although no input changes."""

from datetime import UTC, datetime, timedelta

import pytest
from deltalake.exceptions import TableNotFoundError
from support.running import running
from support.runs import built, statuses, table_rows
from support.shops import UNOPTIMIZED
from support.spark import SPARK_WARNINGS

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

STAYS = 20
"""Seconds for which a row stays."""
STORED = """
    {{ config(materialized='table', unique_key='id') }}
    select id, user, at from {{ source('web', 'events') }}
"""
RECENT = f"""
    {{{{ config(materialized='table', unique_key='id', refresh='full', every='2 seconds') }}}}
    select id, user from {{{{ ref('stored') }}}} where at > now() - interval {STAYS} seconds
"""
USERS = """
    {{ config(materialized='table', unique_key='user') }}
    select user, count(*) as n from {{ ref('recent') }} group by user
"""


def send(shop, number, seconds):
    """Send an event of that many seconds ago."""
    time = datetime.now(UTC) - timedelta(seconds=seconds)
    shop.send(("a", {"id": number, "kind": "x", "value": 1.0, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ")}))


def rows(root, name):
    try:
        return table_rows(root, f"model.{name}")
    except TableNotFoundError:
        return []  # nothing has been stored yet


def ids(root):
    return {row["id"] for row in rows(root, "recent")}


@pytest.fixture
def recent(shop):
    shop.write("profiles.yml", UNOPTIMIZED)
    for name, sql in {"stored": STORED, "recent": RECENT, "users": USERS}.items():
        shop.model(name, sql)
    return shop


def test_a_build_removes_rows_that_left_the_window(recent, first_spark):
    send(recent, 1, 10_000)
    send(recent, 2, -STAYS * 20)
    send(recent, 3, 0)
    assert {*statuses(built(recent.root, first_spark)[0]).values()} == {"success"}
    began = datetime.now(UTC)
    assert ids(recent.root) >= {2}
    assert 1 not in ids(recent.root)
    # Builds without new records, until the third one is too old.
    while datetime.now(UTC) < began + timedelta(seconds=STAYS + 5):
        built(recent.root, first_spark)
    assert ids(recent.root) == {2}
    assert rows(recent.root, "users") == [{"user": "a", "n": 1}]


def test_a_run_removes_rows_that_left_the_window(recent, first_spark):
    with running(recent.root, first_spark) as run:
        send(recent, 2, -STAYS * 20)
        run.until(lambda: ids(recent.root) == {2})
        send(recent, 1, -STAYS)
        run.until(lambda: ids(recent.root) == {1, 2})
        # Nothing is sent any more.
        run.until(lambda: ids(recent.root) == {2})
        run.until(lambda: rows(recent.root, "users") == [{"user": "a", "n": 1}])
