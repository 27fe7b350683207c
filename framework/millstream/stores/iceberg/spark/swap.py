"""Replaces all rows of an Iceberg table in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from millstream.core.expressions import quote_name
from millstream.queries.values import TableOutput
from millstream.stores.iceberg.spark.address import Address
from millstream.stores.iceberg.spark.commits import (
    folder_of,
    is_swapped,
    records_of,
    stage_files,
    stage_record,
    swap_record,
)
from millstream.stores.iceberg.spark.files import read_rows, write_files
from millstream.stores.iceberg.spark.table import iceberg, map_names, model_schema, table_builder


def swap_tables(
    session: SparkSession, output: TableOutput, new: Address, address: Address, *, swap: str
) -> None:
    """Replace the rows of the table at `address` by those at `new`; a repeated call changes nothing."""
    if (rebuilt := new.load()) is None:
        return  # removed after an earlier attempt
    table = address.load()
    if table is not None and is_swapped(table, swap):
        return
    record = (records_of(table) if table is not None else {}) | records_of(rebuilt) | swap_record(swap)
    _replace(session, output, rebuilt, address, model_schema(output), record)


def copy_table(session: SparkSession, output: TableOutput, address: Address, to: Address) -> None:
    if (table := address.load()) is not None:
        schema = iceberg(session).SchemaParser.toJson(table.schema())
        _replace(session, output, table, to, schema, records_of(table))


def _replace(
    session: SparkSession,
    output: TableOutput,
    source: Any,
    address: Address,
    schema: str,
    record: Mapping[str, str],
) -> None:
    """Replace the table at `address` by one with the rows of another table, and with a schema."""
    transaction = table_builder(session, output, schema, address).createOrReplaceTransaction()
    changed = transaction.table()
    map_names(session, transaction.updateProperties(), changed.schema())
    stored = {name.lower() for name in read_rows(session, source).columns}
    names = [field.name() for field in changed.schema().columns() if field.name().lower() in stored]
    rows = read_rows(session, source).select(*map(quote_name, names))
    # The folder is named by the version that is copied: its files can't be of another one.
    snapshot = source.currentSnapshot()
    written = write_files(
        rows,
        changed,
        folder_of(changed.location(), source.uuid(), snapshot and snapshot.snapshotId(), *record),
    )
    stage_files(transaction, written, (), {})
    stage_record(transaction, record)
    address.change(transaction)
