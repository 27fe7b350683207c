"""Deletes rows of append-only tables on request, such as all rows of a customer (`delete_by`).

The newest request of each customer is stored in a table of its own, before the rows of its batch. So rows
from before a request stay out whenever they come, and a batch that is repeated decides the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec.structs import replace
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from millstream.core.expressions import quote_name
from millstream.engine.queries.newest_rows import latest_rows
from millstream.engine.queries.small_batches import evaluate_batch
from millstream.queries.values import TableOutput
from millstream.stores.deletions import deleted_sql
from millstream.stores.spark import SparkTables, TableBatch

REQUESTS_SUFFIX = ".deletions"
"""The suffix of the table with the requests; names of models can't contain a dot."""


def requests_of(table: TableOutput) -> TableOutput | None:
    """Return the table with the newest request for each value of `delete_by`; None for other tables."""
    if not table.deletes_on_request:
        return None
    passed = ("order_by", "retention", "store")
    options = {name: value for name, value in table.options.items() if name in passed}
    names = {name.lower() for name in (*table.deleted_by, options["order_by"])}
    columns = tuple(column for column in table.columns if column.name.lower() in names)
    return TableOutput(table.model.with_ending(REQUESTS_SUFFIX), table.deleted_by, columns, options)


@contextmanager
def without_deleted(
    rows: DataFrame, requests: TableOutput, tables: SparkTables, batch: TableBatch
) -> Iterator[tuple[DataFrame, TableBatch]]:
    """Store the requests of a batch, and yield its rows without those that any request deletes.

    They are followed by its requests, marked as `_deleted`, for the rows that the table has.
    """
    with ExitStack() as stack:
        if not batch.local:
            rows = stack.enter_context(evaluate_batch(rows)).rows
        new = stack.enter_context(evaluate_batch(newest_requests(rows, requests)))
        if any_new := new.count() > 0:
            stored = new.rows.select(*(quote_name(column.name) for column in requests.columns))
            tables.merge(stored, requests, replace(batch, deletes=False, new=False, local=new.few))
        all_requests = _all_requests(rows, requests, tables)
        remaining = rows.where("not _deleted")
        if all_requests is None:
            yield remaining.drop("_deleted"), replace(batch, deletes=False)
            return
        remaining = not_requested(remaining, all_requests, requests)
        remaining = remaining.unionByName(new.rows) if any_new else remaining.drop("_deleted")
        computed = stack.enter_context(evaluate_batch(remaining))
        yield computed.rows, replace(batch, deletes=any_new, local=computed.few)


def without_requested(rows: DataFrame, requests: TableOutput, tables: SparkTables) -> DataFrame:
    """Return the rows of earlier batches, without requests, which are all stored, and what these delete."""
    remaining, all_requests = rows.where("not _deleted"), _all_requests(rows, requests, tables)
    if all_requests is not None:
        remaining = not_requested(remaining, all_requests, requests)
    return remaining.drop("_deleted")


def newest_requests(rows: DataFrame, requests: TableOutput) -> DataFrame:
    """Return the newest request of each customer; one without a customer deletes nothing."""
    named = " and ".join(f"{quote_name(key)} is not null" for key in requests.keys)
    return latest_rows(rows.where(f"_deleted and {named}"), requests.keys, requests.options["order_by"])


def not_requested(rows: DataFrame, all_requests: DataFrame, requests: TableOutput) -> DataFrame:
    """Return the rows that came after the last request of their customer."""
    deleted = f.expr(deleted_sql(requests, "row", "request"))
    return rows.alias("row").join(all_requests.alias("request"), deleted, "left_anti")


def _all_requests(rows: DataFrame, requests: TableOutput, tables: SparkTables) -> DataFrame | None:
    """Return all requests so far; None if there are none."""
    session: Any = rows.sparkSession
    if (copied := tables.copied(requests.model, None)) is not None:
        if not copied.rows.num_rows:
            return None
        names = [column.name for column in requests.columns]
        schema = ", ".join(f"{quote_name(column.name)} {column.type}" for column in requests.columns)
        all_requests: DataFrame = session.createDataFrame(
            copied.rows.select(names), StructType.fromDDL(schema)
        )
        return all_requests
    all_requests = tables.rows(session, requests.model, requests.columns)
    return None if all_requests.isEmpty() else all_requests
