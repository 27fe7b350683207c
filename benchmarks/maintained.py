"""What 1,000 changes of a table cost the tables over it: by weights, by touched keys, and computed in full.

    uv run python benchmarks/maintained.py --rows 100000 1000000

Spark compiles to the fastest code, as in a run. Prints seconds and CPU seconds, of Spark and of this process, for each model, the smallest
of several changes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "framework/tests"))

from cpu_time import spent
from support.runs import job_of

from millstream.engine.queries.deliveries import BatchWriter
from millstream.engine.queries.start import QueryContext, incremental_table
from millstream.engine.queries.tables import Tables
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark
from millstream.project.values import Target
from millstream.stores.spark import MAINTAINED, TableBatch

SOURCES = """
sources:
  - name: web
    topics:
      - name: orders
        columns: [{name: id, type: bigint}, {name: customer, type: bigint}, {name: amount, type: bigint}]
      - name: customers
        columns: [{name: id, type: bigint}, {name: region, type: bigint}]
"""
ORDERS, CUSTOMERS = "{{ ref('orders') }}", "{{ ref('customers') }}"
MODELS = {
    "orders": ("id", "select id, customer, amount from {{ source('web', 'orders') }}"),
    "customers": ("id", "select id, region from {{ source('web', 'customers') }}"),
    "totals": (
        "customer",
        f"select customer, count(*) as n, max(amount) as most from {ORDERS} group by customer",
    ),
    "sums": (
        "customer",
        f"select customer, count(*) as n, sum(amount) as total from {ORDERS} group by customer",
    ),
    "best": (
        "id",
        (
            f"select id, customer, amount from {ORDERS} "
            "qualify row_number() over (partition by customer order by amount desc, id) <= 3"
        ),
    ),
    "named": (
        "id",
        f"select o.id, o.amount, c.region from {ORDERS} as o join {CUSTOMERS} as c on o.customer = c.id",
    ),
}
CHANGES = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", nargs="+", default=[*MODELS], help="of " + ", ".join(MODELS))
    arguments = parser.parse_args()
    models = {name: MODELS[name] for name in MODELS if name in {"orders", "customers", *arguments.models}}
    target = Target("bench", "local", {"master": "local[2]"})
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark("bench", target, jars_for(target), Path(folder), None, amount="endless")
        try:
            for rows in arguments.rows:
                root = Path(folder) / str(rows)
                project(root, models)
                measure(spark, root, rows, arguments.rounds)
        finally:
            spark.stop()


def project(root, models) -> None:
    (root / "models").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nname = "shop"\n[tool.millstream]\nname = "shop"\n')
    output = "{master: 'local[2]', kafka: embedded}"
    (root / "profiles.yml").write_text(f"shop: {{target: local, outputs: {{local: {output}}}}}\n")
    (root / "models/sources.yml").write_text(SOURCES)
    for name, (key, sql) in models.items():
        write(root, name, key, sql)
        if name not in {"orders", "customers"}:
            write(root, f"{name}_full", key, sql, ", refresh='full'")
        if name == "sums":
            write(root, f"{name}_by_keys", key, sql, ", refresh='keys'")


def measure(spark, root, rows, rounds) -> None:
    job = job_of(root)
    tables = Tables(spark, job.project, job.catalog)
    outputs = {table.model: table for query in job.physical.queries for table in query.tables}
    for table in outputs.values():
        tables.create(table, changes=True)
    customers = max(1, rows // 10)
    store(spark, tables, outputs["model.orders"], order("id", customers, 0), 0, rows, 0)
    store(spark, tables, outputs["model.customers"], "id, id % 100 as region", 0, customers, 0)
    works = {
        query.maintaining.target.model: work(job, tables, query)
        for query in job.physical.queries
        if query.maintaining
    }
    costs: dict[str, list[tuple[float, float]]] = {}
    for number in range(rounds + 1):
        for model, update in works.items():
            began, used = time.monotonic(), spent(spark)
            update(spark.newSession().range(0), number)
            costs.setdefault(model, []).append((time.monotonic() - began, spent(spark) - used))
        # A thousand orders in one place of the table change their customer and amount.
        first = number * CHANGES
        store(
            spark,
            tables,
            outputs["model.orders"],
            order("id", customers, number + 1),
            first,
            first + CHANGES,
            number + 1,
        )
    for model, runs in costs.items():
        (wall, used), updates = runs[0], runs[1:]
        best = min(seconds for seconds, _ in updates), min(seconds for _, seconds in updates)
        print(
            f"{rows:>9,} rows  {model:<18} first {wall:6.1f} s, {used:6.1f} CPU s   "
            f"1,000 changes {best[0]:6.1f} s, {best[1]:6.1f} CPU s",
            flush=True,
        )


def order(key, customers, shift) -> str:
    return f"{key}, ({key} + {shift * 7}) % {customers} as customer, {key} % 1000 + {shift} as amount"


def write(root, name, key, sql, more="") -> None:
    config = f"{{{{ config(materialized='table', unique_key='{key}'{more}) }}}}"
    (root / f"models/{name}.sql").write_text(f"{config}\n{sql}\n")


def store(spark, tables, table, columns, first, stop, number) -> None:
    rows = spark.range(first, stop).selectExpr(*columns.split(", "), "false as _deleted")
    tables.merge(rows, table, TableBatch("bench", number, deletes=True, new=number == 0))


def work(job, tables, query):
    stores = BatchWriter(MAINTAINED, {}, tables.merge)
    return incremental_table(query, QueryContext(job.project, "", stores, {}, tables)).each_batch


if __name__ == "__main__":
    main()
