"""Delta tables that delta-rs writes, as sources of a project."""

import pyarrow as pa
from deltalake import write_deltalake

from support.runs import built, errors, table_rows

LAKE = """
sources:
  - name: lake
    delta_tables:
      - name: orders
        path: lake/orders
        columns:
          - {name: id, type: bigint}
          - {name: customer, type: string}
          - {name: amount, type: double}
          - {name: doubled, from: amount * 2}
"""
ORDERS = "{{ source('lake', 'orders') }}"
ALL = f"{{{{ config(materialized='table', unique_key='id') }}}} select id, customer, doubled from {ORDERS}"


def folder(shop):
    return str(shop.root / "lake/orders")


def append(shop, *rows):
    """Append rows as another program does."""
    ids, customers, amounts = zip(*rows, strict=True)
    table = pa.table({"id": pa.array(ids, pa.int64()), "customer": customers, "amount": amounts})
    write_deltalake(folder(shop), table, mode="append")


def declare(shop, *options):
    """Declare the table with options."""
    lines = "".join(f"        {option}\n" for option in options)
    shop.write("models/lake.yml", LAKE.replace("        columns:", f"{lines}        columns:"))


def stored_ids(shop, model="all_orders"):
    return sorted(row["id"] for row in table_rows(shop.root, f"model.{model}"))


def good_build(shop, spark, **options):
    results, events = built(shop.root, spark, **options)
    assert errors(events) == [], errors(events)
    return results, events


def failure(shop, spark, **options):
    _, events = built(shop.root, spark, **options)
    (diagnostic,) = errors(events)
    return diagnostic
