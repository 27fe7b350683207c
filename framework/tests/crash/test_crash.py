"""`millstream run`, killed again and again while records come: nothing is lost, and tables are exact.

`MILLSTREAM_CRASHES=300 MILLSTREAM_SEED=7 uv run pytest -m long framework/tests/crash` is a longer run.
"""

import json
import os
import random
import signal
from collections import Counter, defaultdict

import pytest
from support.commands import Run, succeed
from support.runs import create_topics, headers, iceberg_rows, parquet_rows, received, send, table_rows

from millstream.local.broker import broker_folder_of, keep_broker
from millstream.local.server.state import read_pid

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

CRASHES = int(os.environ.get("MILLSTREAM_CRASHES", "30"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
PER_ROUND = 120
"""Records of a round."""
PROFILES = 'shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, trigger: 500 milliseconds, tables: {iceberg_path: lake, parquet_path: lake}}}}\n'
NAMES = """
sources:
  - name: crm
    topics:
      - name: users
        table: true
        key: {name: user, type: string}
        columns: [{name: name, type: string}]
"""
EVENTS = "{{ source('web', 'events') }}"
MODELS = {
    "plain": f"{{{{ config(materialized='sink', key='user') }}}} select id, user from {EVENTS} where value >= 1",
    "odd": f"{{{{ config(materialized='sink') }}}} select id from {EVENTS} where id % 2 = 1",
    "windows": "{{ config(materialized='table', unique_key=['minute', 'user'], emit='on_close') }} "
    f"select window(at, '1 minute').start as minute, user, count(*) as events from {EVENTS} "
    "group by window(at, '1 minute'), user",
    "raw": "{{ config(materialized='table', partition_by='day') }} "
    f"select id, user, at, cast(at as date) as day from {EVENTS}",
    "lake": "{{ config(materialized='table', store='iceberg', partition_by='day') }} "
    f"select id, user, at, cast(at as date) as day from {EVENTS}",
    "lake_totals": "{{ config(materialized='table', store='iceberg', unique_key='user') }} "
    f"select user, count(*) as events, sum(id) as ids, max(id) as last from {EVENTS} group by user",
    "filed": "{{ config(materialized='table', store='parquet', partition_by='day') }} "
    f"select id, user, at, cast(at as date) as day from {EVENTS}",
    "totals": "{{ config(materialized='table', unique_key='user') }} "
    f"select user, count(*) as events, sum(id) as ids, max(id) as last from {EVENTS} group by user",
    "named": "{{ config(materialized='sink') }} select e.id, u.name "
    f"from {EVENTS} e left join {{{{ source('crm', 'users') }}}} u on e.user = u.user",
}


class Traffic:
    """Records with ascending ids, ten seconds from one another, of five users."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.sent = []

    def more(self, count):
        rows = [row(number) for number in range(len(self.sent), len(self.sent) + count)]
        send(
            self.bootstrap,
            {"events": [(row["user"], {k: v for k, v in row.items() if k != "user"}) for row in rows]},
        )
        self.sent += rows


def row(number):
    minute, second = divmod(number * 10, 60)
    day, minute = divmod(minute, 1440)
    timestamp = f"2026-01-{1 + day:02}T{minute // 60:02}:{minute % 60:02}:{second:02}Z"
    return {"user": f"u{number % 5}", "id": number, "kind": "x", "value": float(number % 3), "at": timestamp}


@pytest.fixture
def shop(durable_shop):
    shop = durable_shop
    shop.write("profiles.yml", PROFILES)
    shop.write("models/crm.yml", NAMES)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    create_topics(shop.bootstrap, "events", "users")
    send(shop.bootstrap, {"users": [(f"u{number}", {"name": f"user {number}"}) for number in range(5)]})
    return shop


def test_nothing_is_lost_and_tables_are_exact(shop):
    dice = random.Random(SEED)
    traffic = Traffic(shop.bootstrap)
    for _ in range(CRASHES):
        crash(shop, traffic, dice)
    traffic.more(PER_ROUND)
    succeed(shop.root, "build")
    check(shop, traffic.sent)


def crash(shop, traffic, dice):
    """Run until some query runs, send records, and kill the run or the broker at any moment after that."""
    keep_broker(shop.root)
    run = Run(shop.root)
    try:
        run.until("started")
        traffic.more(PER_ROUND)
        run.go_on(dice.uniform(0, 6))
        if dice.random() < 0.4:
            os.kill(read_pid(broker_folder_of(shop.root)), signal.SIGKILL)
            run.until("broker")
            traffic.more(PER_ROUND)
            run.go_on(dice.uniform(0, 6))
    finally:
        run.kill(with_children=dice.random() < 0.5)


def check(shop, sent):
    expected = {
        "plain": {row["id"] for row in sent if row["value"] >= 1},
        "odd": {row["id"] for row in sent if row["id"] % 2},
        "named": {row["id"] for row in sent},
    }
    for topic, ids in expected.items():
        once(received(shop.bootstrap, topic), ids)
    appended = (
        table_rows(shop.root, "model.raw"),
        iceberg_rows(shop.root, "lake"),
        parquet_rows(shop.root, "filed"),
    )
    for stored in appended:
        assert sorted(r["id"] for r in stored) == [row["id"] for row in sent]
    named = {(row["id"], row["name"]) for row in shop.values("named")}
    assert named == {(row["id"], f"user {row['id'] % 5}") for row in sent}

    totals = defaultdict(list)
    for row in sent:
        totals[row["user"]].append(row["id"])
    for stored in (table_rows(shop.root, "model.totals"), iceberg_rows(shop.root, "lake_totals")):
        assert {r["user"]: (r["events"], r["ids"], r["last"]) for r in stored} == {
            user: (len(ids), sum(ids), max(ids)) for user, ids in totals.items()
        }
    # The watermark is a minute behind the newest record: what ended before it is told.
    windows = Counter((row["at"][:16], row["user"]) for row in sent)
    emitted = {
        (r["minute"].strftime("%Y-%m-%dT%H:%M"), r["user"]): r["events"]
        for r in table_rows(shop.root, "model.windows")
    }
    assert emitted.items() <= windows.items()
    open_ones = {key for key in windows if key not in emitted}
    assert {minute for minute, _ in open_ones} <= set(sorted({minute for minute, _ in windows})[-3:])


def once(messages, ids):
    """Check that each record came, and what came twice says so in its headers."""
    by_id = defaultdict(list)
    for message in messages:
        by_id[json.loads(message.value())["id"]].append(headers(message))
    assert set(by_id) == ids
    for number, copies in by_id.items():
        if len(copies) > 1:
            positions = {copy["millstream.position"] for copy in copies}
            assert len(positions) == 1, (number, copies)
