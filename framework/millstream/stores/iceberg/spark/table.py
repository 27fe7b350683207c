"""Opens, creates and extends one Iceberg table, by Iceberg's own library in Spark's JVM.

Iceberg's connector for Spark is not used: that of Spark 4.1 fails on 4.2 (IncompatibleClassChangeError), in
which `View` is no longer an interface, and `CatalogManager` has become one. The library itself knows nothing
of Spark: it says which files a table has, and commits which ones it gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from millstream.core.iceberg_schemas import columns_of, read_as, schema_json
from millstream.core.types import Type
from millstream.outputs.partitions import Partition
from millstream.queries.values import TableOutput
from millstream.stores.column_types import check_column_types
from millstream.stores.iceberg.spark.address import Address, java_of
from millstream.stores.iceberg.spark.partitions import (
    model_partitions,
    partition_term,
    stored_partitions,
    with_partition,
)

MAPPING = "schema.name-mapping.default"
"""By which columns are found in files, to which Spark writes no ids of columns. Iceberg adds new columns."""
_PROPERTIES = {
    "format-version": "2",
    # Each batch is a version of the metadata.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    # Millstream, which reads no files of deleted rows, asks this of other programs.
    "write.delete.mode": "copy-on-write",
    "write.update.mode": "copy-on-write",
    "write.merge.mode": "copy-on-write",
}


def iceberg(session: SparkSession) -> Any:
    """Return Iceberg's Java package."""
    return java_of(session).org.apache.iceberg


def create_table(session: SparkSession, output: TableOutput, address: Address) -> bool:
    """Create a table, or add missing columns; return whether it is new."""
    if (table := address.load()) is None:
        builder = table_builder(session, output, model_schema(output), address)
        transaction = builder.withSortOrder(_order(session, output)).createTransaction()
        map_names(session, transaction.updateProperties(), transaction.table().schema())
        address.change(transaction)
        return True
    _check_types(session, output, table)
    added = iceberg(session).SchemaParser.fromJson(model_schema(output))
    stored = {name.lower() for name, _ in stored_columns(session, table)}
    if any(column.name.lower() not in stored for column in output.columns):
        table.updateSchema().caseSensitive(False).unionByNameWith(added).commit()
    _arrange_files(session, output, table)
    return False


def model_schema(output: TableOutput) -> str:
    return schema_json((column.name, column.type) for column in output.columns)


def table_builder(session: SparkSession, output: TableOutput, schema_json_: str, address: Address) -> Any:
    """Return what creates or replaces a table with this schema, and with the partitions of its model."""
    schema = iceberg(session).SchemaParser.fromJson(schema_json_)
    properties = java_of(session).java.util.HashMap()
    for name, value in _PROPERTIES.items():
        properties.put(name, value)
    spec = iceberg(session).PartitionSpec.builderFor(schema).caseSensitive(False)
    for partition in model_partitions(output):
        spec = with_partition(spec, partition)
    return address.builder(schema).withPartitionSpec(spec.build()).withProperties(properties)


def map_names(session: SparkSession, update: Any, schema: Any) -> None:
    """Let columns be found by their names, in a change of a table's properties."""
    mapping = iceberg(session).mapping
    update.set(MAPPING, mapping.NameMappingParser.toJson(mapping.MappingUtil.create(schema))).commit()


def stored_columns(session: SparkSession, table: Any, schema: Any = None) -> list[tuple[str, Type]]:
    """Return the columns of a schema of a table, or of the newest one."""
    return columns_of(iceberg(session).SchemaParser.toJson(schema or table.schema()))


def properties_of(table: Any) -> dict[str, str]:
    return dict(table.properties())


def _check_types(session: SparkSession, output: TableOutput, table: Any) -> None:
    stored = {name.lower(): type_ for name, type_ in stored_columns(session, table)}
    expected = {column.name.lower(): read_as(column.type) for column in output.columns}
    check_column_types("MS624", output, stored, expected)


def _arrange_files(session: SparkSession, output: TableOutput, table: Any) -> None:
    """Let new files of an existing table be arranged as the model says."""
    if not output.appends:
        return
    before, now = stored_partitions(table), model_partitions(output)
    if _folded(before) != _folded(now):
        expressions, update = (
            iceberg(session).expressions.Expressions,
            table.updateSpec().caseSensitive(False),
        )
        for partition in _without(before, now):
            update = update.removeField(partition_term(expressions, partition))
        for partition in _without(now, before):
            update = update.addField(partition_term(expressions, partition))
        update.commit()
    order = _order(session, output, table.schema())
    if not table.sortOrder().sameOrder(order):
        replaced = table.replaceSortOrder().caseSensitive(False)
        for name in output.options.get("cluster_by") or ():
            term = iceberg(session).expressions.Expressions.ref(name)
            replaced = replaced.asc(term, iceberg(session).NullOrder.NULLS_FIRST)
        replaced.commit()


def _order(session: SparkSession, output: TableOutput, schema: Any = None) -> Any:
    schema = schema or iceberg(session).SchemaParser.fromJson(model_schema(output))
    order = iceberg(session).SortOrder.builderFor(schema).caseSensitive(False)
    for name in output.options.get("cluster_by") or ():
        order = order.asc(name)
    return order.build()


def _without(partitions: Sequence[Partition], others: Sequence[Partition]) -> list[Partition]:
    folded = _folded(others)
    return [partition for partition in partitions if partition.folded not in folded]


def _folded(partitions: Sequence[Partition]) -> list[Partition]:
    return [partition.folded for partition in partitions]
