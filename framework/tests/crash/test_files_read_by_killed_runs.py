"""Runs that read files, a Delta or Iceberg table, or topics that appear, and are killed: all rows are there once.

`MILLSTREAM_FILE_KILLS=50 uv run pytest -m long framework/tests/crash/test_files_read_by_killed_runs.py` is a longer run.
"""

import json
import os
import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from engine.test_source_kinds import write_file
from support.commands import Run, succeed
from support.committed_records import committed
from support.iceberg_tables import append, catalogs, create
from support.kinds import LAKE
from support.runs import create_topics, table_rows
from support.shops import Shop

from millstream.local.broker import keep_broker, stop_broker

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_FILE_KILLS", "4"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
PROFILES = """
shop: {target: local, outputs: {local: {
  master: "local[2]", kafka: embedded, trigger: 200 milliseconds, guarantee: exactly_once,
  spark: {spark.sql.shuffle.partitions: 2}}}}
"""
ORDERS = "{{ source('lake', 'orders') }}"
MODELS = {
    "plain": f"{{{{ config(materialized='sink') }}}} select id, amount from {ORDERS}",
    "once": f"{{{{ config(materialized='sink') }}}} select distinct id from {ORDERS}",
    "totals": "{{ config(materialized='table', unique_key='customer') }} "
    f"select customer, count(*) as orders, sum(id) as ids from {ORDERS} group by customer",
}


FILES_OF_LINES = LAKE.replace("parquet_folders:", "files:").replace(
    "lake/orders", "lake/orders\n        format: json"
)


def write_lines(shop, name, *rows):
    folder = shop.root / "lake/orders"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(dict(zip(("id", "customer", "amount"), row, strict=True))) for row in rows]
    (shop.root / name).write_text("\n".join(lines))
    (shop.root / name).rename(folder / f"{name}.json")


DELTA_TABLE = LAKE.replace("parquet_folders:", "delta_tables:")


def append_rows(shop, _name, *rows):
    columns = dict(zip(("id", "customer", "amount"), zip(*rows, strict=True), strict=True))
    write_deltalake(str(shop.root / "lake/orders"), pa.table(columns), mode="append")


TOPICS_OF_A_PATTERN = LAKE.replace("parquet_folders:", "topics:").replace(
    "path: lake/orders", "topic_pattern: orders_.*"
)


def write_topic(shop, name, *rows):
    create_topics(shop.bootstrap, f"orders_{name}", partitions=1)
    names = ("id", "customer", "amount")
    shop.send(*((None, dict(zip(names, row, strict=True))) for row in rows), topic=f"orders_{name}")


ICEBERG_TABLE = LAKE.replace("parquet_folders:", "iceberg_tables:").replace(
    "path: lake/orders", "catalog: lake\n        table: shop.orders"
)


def append_snapshot(shop, name, *rows):
    if name == "file0":
        create(shop)
    append(shop, *rows)


KINDS = {
    "packaged": (LAKE, write_file),
    "files": (FILES_OF_LINES, write_lines),
    "delta": (DELTA_TABLE, append_rows),
    "pattern": (TOPICS_OF_A_PATTERN, write_topic),
    "iceberg": (ICEBERG_TABLE, append_snapshot),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def lake(request, tmp_path, monkeypatch):
    packages = Path(__file__).parents[1] / "support/source_kinds"
    monkeypatch.setenv("PYTHONPATH", f"{packages}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(str(packages))
    broker = keep_broker(tmp_path)
    shop = Shop(tmp_path, broker.address)
    shop.write("profiles.yml", PROFILES.replace("kafka:", f"catalogs: {catalogs(tmp_path)}, kafka:"))
    declared, shop.write_rows = request.param
    shop.write("models/sources.yml", declared)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    yield shop
    stop_broker(tmp_path, force=True)


def test_each_row_is_there_once(lake):
    dice, written = random.Random(SEED), []

    def write(run=None):
        for _ in range(dice.randrange(1, 4)):
            first = len(written)
            rows = [(first + n, f"customer{(first + n) % 3}", 1.0) for n in range(dice.randrange(1, 50))]
            lake.write_rows(lake, f"file{first}", *rows)
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
    for topic in ("plain", "once"):
        assert sorted(json.loads(record.value())["id"] for record in committed(lake.bootstrap, topic)) == ids
    totals = {row["customer"]: (row["orders"], row["ids"]) for row in table_rows(lake.root, "model.totals")}
    of_customers = {name: [id_ for id_, customer, _ in written if customer == name] for name in totals}
    assert totals == {name: (len(those), sum(those)) for name, those in of_customers.items()}
    assert sum(map(len, of_customers.values())) == len(ids)
