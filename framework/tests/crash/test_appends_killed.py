"""Runs that append many rows to tables in Delta, Parquet and an Iceberg catalog, killed during batches.

Each row is stored once, or deleted on request.

`MILLSTREAM_APPENDED=10000000 MILLSTREAM_APPEND_KILLS=20 uv run pytest -m long framework/tests/crash/test_appends_killed.py`
is a longer run, of ten million rows.
"""

import os
import random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from support.commands import Run, succeed
from support.runs import parquet_rows

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

ROWS = int(os.environ.get("MILLSTREAM_APPENDED", "180000"))
KILLS = int(os.environ.get("MILLSTREAM_APPEND_KILLS", "3"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
FILES = 3
"""Files that are there when a run starts; each is a batch."""
CUSTOMERS = 1_000
PROFILES = 'shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, trigger: 100 milliseconds, tables: TABLES}}}\n'
SOURCE = """
sources:
  - name: lake
    files:
      - name: events
        path: lake/events
        format: parquet
        max_files: 1
        columns:
          - {name: id, type: bigint}
          - {name: customer, type: int}
          - {name: erased, type: boolean}
          - {name: at, type: timestamp}
"""
EVENTS = "{{ source('lake', 'events') }}"
MODELS = {
    "filed": f"{{{{ config(materialized='table', store='parquet', partition_by='day') }}}} select *, cast(at as date) as day from {EVENTS}",
    "appended": f"{{{{ config(materialized='table', partition_by='day') }}}} select *, cast(at as date) as day from {EVENTS}",
    "in_catalog": f"{{{{ config(materialized='table', store='iceberg', partition_by='day') }}}} select *, cast(at as date) as day from {EVENTS}",
    "newest_in_catalog": "{{ config(materialized='table', store='iceberg', unique_key='customer') }} "
    f"select customer, max(id) as id, count(*) as events from {EVENTS} group by customer",
    "forgetting_in_catalog": "{{ config(materialized='table', store='iceberg', order_by='at', delete_when='erased', delete_by='customer') }} "
    f"select id, customer, erased, at from {EVENTS}",
    "forgetting": "{{ config(materialized='table', order_by='at', delete_when='erased', delete_by='customer') }} "
    f"select id, customer, erased, at from {EVENTS}",
}


def test_each_row_is_stored_once_or_deleted(durable_shop, catalog):
    shop, dice, numbers = durable_shop, random.Random(SEED), np.random.default_rng(SEED)
    namespace = catalog.new_namespace()
    shop.write(
        "profiles.yml", PROFILES.replace("TABLES", catalog.settings(namespace, "parquet_path: lake, "))
    )
    shop.write("models/sources.yml", SOURCE)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    written = []
    for _ in range(KILLS):
        written += [add_file(shop, len(written) + number, numbers) for number in range(FILES)]
        run = Run(shop.root)
        try:
            run.until("started")
            run.go_on(dice.uniform(0, 8))
        finally:
            run.kill(with_children=dice.random() < 0.5)
    succeed(shop.root, "build")
    events = pa.concat_tables(written)
    assert np.array_equal(stored_ids(shop, "appended"), np.arange(len(events)))
    assert sorted(row["id"] for row in parquet_rows(shop.root, "filed")) == list(range(len(events)))
    assert np.array_equal(stored_ids(shop, "forgetting"), remaining_ids(events))
    in_catalog = {name: catalog.rows(namespace, name) for name in MODELS if name.endswith("in_catalog")}
    ids = {name: sorted(row["id"] for row in rows) for name, rows in in_catalog.items()}
    assert ids["in_catalog"] == list(range(len(events)))
    assert ids["forgetting_in_catalog"] == remaining_ids(events).tolist()
    newest = events.group_by("customer").aggregate([("id", "max"), ("id", "count")]).to_pylist()
    assert sorted(
        (row["customer"], row["id"], row["events"]) for row in in_catalog["newest_in_catalog"]
    ) == sorted((row["customer"], row["id_max"], row["id_count"]) for row in newest)


def add_file(shop, number, numbers):
    """Add a file of events in no order of time; every third one has requests of some customers."""
    size = ROWS // (FILES * KILLS)
    minutes = numbers.integers(0, 3 * 24 * 60, size).astype("timedelta64[m]")
    times = np.datetime64("2026-01-01T00:00:00", "us") + minutes
    events = pa.table(
        {
            "id": np.arange(size) + number * size,
            "customer": pa.array(numbers.integers(0, CUSTOMERS, size), pa.int32()),
            "erased": np.arange(size) < (5 if number % 3 == 1 else 0),
            "at": pa.array(times, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
        }
    )
    folder = shop.root / "lake/events"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(events, shop.root / "file.parquet")
    (shop.root / "file.parquet").rename(folder / f"{number}.parquet")
    return events


def stored_ids(shop, table):
    stored = DeltaTable(str(shop.root / f".millstream/local/tables/{table}")).to_pyarrow_dataset()
    return np.sort(stored.to_table(columns=["id"])["id"].to_numpy())


def remaining_ids(events):
    """Return the ids of rows after the last request of their customer, without Spark."""
    requests = events.filter(events["erased"]).group_by("customer").aggregate([("at", "max")])
    rows = events.filter(pc.invert(events["erased"])).join(requests, "customer", join_type="left outer")
    is_newer = pc.or_kleene(pc.is_null(rows["at_max"]), pc.greater(rows["at"], rows["at_max"]))
    return np.sort(rows.filter(is_newer)["id"].to_numpy())
