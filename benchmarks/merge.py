"""What a batch of 10,000 changed rows of a large table costs: `uv run python benchmarks/merge.py`.

The keys are those that were added last, as of orders that change soon after they were made, or keys of
anywhere in the table; old rows are marked (deletion vectors), or files written again. Prints the CPU
seconds of this process and of Spark for each batch: of the first one, and the least and the most of
several others; and what storing all rows at first costs.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from cpu_time import spent
from msgspec.structs import replace
from pyspark.sql import SparkSession

from millstream.core.types import BIGINT, STRING
from millstream.engine.queries.small_batches import evaluate_batch
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark
from millstream.plan.nodes import Column
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.delta.spark import connect
from millstream.stores.spark import StreamedTables, TableBatch

COLUMNS = (Column("id", BIGINT), Column("customer", BIGINT), Column("amount", BIGINT), Column("note", STRING))
CHANGES = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--batches", type=int, default=5)
    arguments = parser.parse_args()
    target = Target("bench", "local", {"master": "local[2]"})
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark("bench", target, jars_for(target), Path(folder), None, amount="endless")
        try:
            for rows in arguments.rows:
                for marks in (True, False):
                    variant = replace(
                        target, settings={**target.settings, "tables": {"deletion_vectors": marks}}
                    )
                    tables = connect(variant, Path(folder) / f"{rows} {marks}", spark)
                    how = f"{rows:>10,} rows, {'marking rows' if marks else 'writing files':13}"
                    measure(spark, tables, rows, arguments.batches, how)
        finally:
            spark.stop()


def measure(spark: SparkSession, tables: StreamedTables, rows: int, batches: int, how: str) -> None:
    table = TableOutput("model.orders", ("id",), COLUMNS)
    tables.create(table, changes=False)
    print(f"{how}: all rows {merge(spark, tables, table, 'id', rows, 0, rows):6.1f} CPU s", flush=True)
    number = 0
    for where, key in (
        ("of the newest keys", f"{rows} - 1 - id * 3"),
        ("of all keys", f"(id * 7919) % {rows}"),
    ):
        used = []
        for _ in range(batches + 1):
            number += 1
            used.append(merge(spark, tables, table, key, CHANGES, number, rows))
        first, *others = used
        print(
            f"{how}: 10,000 {where:20} {first:6.1f}, then {min(others):6.1f} to {max(others):6.1f} CPU s",
            flush=True,
        )


def merge(
    spark: SparkSession,
    tables: StreamedTables,
    table: TableOutput,
    key: str,
    count: int,
    number: int,
    rows: int,
) -> float:
    columns = (
        f"{key} as id",
        f"id % {rows // 10} as customer",
        f"id % 1000 + {number} as amount",
        "uuid() as note",
        "false as _deleted",
    )
    changes = spark.newSession().range(count).selectExpr(*columns)
    before = spent(spark)
    if number == 0:
        tables.merge(changes, table, TableBatch("bench", 0, deletes=True, new=True))
    else:
        with evaluate_batch(changes) as few:
            tables.merge(few.rows, table, TableBatch("bench", number, deletes=True, new=False, local=few.few))
    return spent(spark) - before


if __name__ == "__main__":
    main()
