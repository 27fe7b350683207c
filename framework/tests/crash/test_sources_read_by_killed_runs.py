"""Runs that read any kind of source and are killed: all rows are there once. This is a cell of the matrix of sources.

`MILLSTREAM_FILE_KILLS=50 uv run pytest -m long framework/tests/crash/test_sources_read_by_killed_runs.py` is a longer run.
"""

import json
import os
import random
from pathlib import Path

import pytest
from support.commands import Run, succeed
from support.committed_records import committed
from support.iceberg_tables import catalogs
from support.runs import table_rows
from support.shops import Shop
from support.source_matrix import ORDERS, SOURCES

from millstream.local.broker import keep_broker, stop_broker

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_FILE_KILLS", "4"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
PROFILES = """
shop: {target: local, outputs: {local: {
  master: "local[2]", kafka: embedded, trigger: 200 milliseconds, guarantee: exactly_once,
  spark: {spark.sql.shuffle.partitions: 2}}}}
"""
TOTALS = {
    "totals": "{{ config(materialized='table', unique_key='customer') }} "
    f"select customer, count(*) as orders, sum(id) as ids from {ORDERS} group by customer",
}
TOPICS = {
    "plain": f"{{{{ config(materialized='sink') }}}} select id, amount from {ORDERS}",
    "once": f"{{{{ config(materialized='sink') }}}} select distinct id from {ORDERS}",
}
"""Of sources whose rows only come."""


@pytest.fixture
def lake(kind, tmp_path, monkeypatch):
    packages = Path(__file__).parents[1] / "support/source_kinds"
    monkeypatch.setenv("PYTHONPATH", f"{packages}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(str(packages))
    broker = keep_broker(tmp_path)
    shop = Shop(tmp_path, broker.address)
    shop.write("profiles.yml", PROFILES.replace("kafka:", f"catalogs: {catalogs(tmp_path)}, kafka:"))
    kind.declare(shop)
    kind.prepare(shop)
    shop.topics = {} if kind.keyed else TOPICS
    for name, sql in (TOTALS | shop.topics).items():
        shop.model(name, sql)
    yield shop
    stop_broker(tmp_path, force=True)


@SOURCES.cell("kill -9")
def test_each_row_is_there_once(lake, kind):
    dice, written = random.Random(SEED), []

    def write(run=None):
        for _ in range(dice.randrange(1, 4)):
            first = len(written)
            rows = [(first + n, f"customer{(first + n) % 3}", 1.0) for n in range(dice.randrange(1, 50))]
            kind.write(lake, *rows)
            written.extend(rows)
            if run is not None:
                run.go_on(dice.uniform(0, 1))

    write()
    for _ in range(KILLS):
        run = Run(lake.root)
        try:
            run.until("started")
            for _ in range(dice.randrange(1, 5)):
                write(run)
                run.go_on(dice.uniform(0, 2))
        finally:
            run.kill(with_children=dice.random() < 0.5)
    succeed(lake.root, "build")
    ids = [id_ for id_, _, _ in written]
    for topic in lake.topics:
        assert sorted(json.loads(record.value())["id"] for record in committed(lake.bootstrap, topic)) == ids
    totals = {row["customer"]: (row["orders"], row["ids"]) for row in table_rows(lake.root, "model.totals")}
    of_customers = {name: [id_ for id_, customer, _ in written if customer == name] for name in totals}
    assert totals == {name: (len(those), sum(those)) for name, those in of_customers.items()}
    assert sum(map(len, of_customers.values())) == len(ids)
