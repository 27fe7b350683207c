"""Replaces the rows of a Delta table in one transaction: readers see all changes or none."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from millstream.core.expressions import quote_name
from millstream.core.types import has_equality
from millstream.queries.values import TableOutput
from millstream.stores.delta.spark import small_tables
from millstream.stores.delta.spark.table import (
    create_table,
    leave_to_spark,
    read_newest,
    read_rows,
    share_table,
    skip_repeated,
    table_at,
    table_exists,
    write_newest,
)


def swap_tables(
    session: SparkSession, table: TableOutput, new: str, path: str, *, app: str, changes: bool
) -> None:
    """Replace the rows of the table at `path` by those at `new`; a repeated call changes nothing."""
    if not table_exists(session, new):
        return  # removed after an earlier attempt
    app = f"{app}/swap"
    if table_exists(session, path):
        old, rebuilt = (
            small_tables.open_small(session, table, path),
            small_tables.open_small(session, table, new),
        )
        if (
            old is not None
            and rebuilt is not None
            and small_tables.can_swap(old, rebuilt, table, changes=changes)
        ):
            small_tables.swap_small(old, rebuilt, table, app=app)
            return
    if table.options.get("retention") and (newest_time := read_newest(session, table, new)) is not None:
        write_newest(session, path, newest_time)
    if _can_merge(session, table, path, changes=changes):
        create_table(session, table, path, changes=changes)
        with skip_repeated(session, app, 0):
            session.sql(swap_sql(table, new, path))
        return
    leave_to_spark(session, path)  # what has statistics may go
    with skip_repeated(session, app, 0):
        selected = read_rows(session, new).select(*(quote_name(column.name) for column in table.columns))
        overwrite_table(selected, table, path)
    share_table(session, table, path)


def copy_table(session: SparkSession, table: TableOutput, path: str, to: str) -> None:
    if not table_exists(session, path):
        return
    if (
        not table_exists(session, to)
        and (delta_table := small_tables.open_small(session, table, path)) is not None
    ):
        small_tables.copy_small(delta_table, table, to)
        return
    overwrite_table(read_rows(session, path), table, to)


def overwrite_table(rows: DataFrame, table: TableOutput, path: str) -> None:
    """Replace the rows and columns of a table, and how its files are arranged."""
    writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    if partitions := table.options.get("partition_by"):
        writer = writer.partitionBy(*partitions)
    if clusters := table.options.get("cluster_by"):
        writer = writer.clusterBy(*clusters)
    writer.save(path)


def swap_sql(table: TableOutput, new: str, path: str) -> str:
    """Return a MERGE that only touches rows that differ, so that the change feed has nothing else."""
    names = [quote_name(column.name) for column in table.columns]
    on = " and ".join(f"old.{quote_name(key)} <=> new.{quote_name(key)}" for key in table.keys)
    differs = ""
    if all(has_equality(column.type) for column in table.columns):
        same = " and ".join(f"old.{name} <=> new.{name}" for name in names)
        differs = f" and not ({same})"
    values = ", ".join(f"new.{name}" for name in names)
    lines = (
        f"merge into {table_at(path)} as old",
        f"using {table_at(new)} as new",
        f"on {on}",
        f"when matched{differs} then update set {', '.join(f'{n} = new.{n}' for n in names)}",
        f"when not matched then insert ({', '.join(names)}) values ({values})",  # noqa: S608 -- quoted names
        "when not matched by source then delete",
    )
    return "\n".join(lines)


def _can_merge(session: SparkSession, table: TableOutput, path: str, *, changes: bool) -> bool:
    """Whether the stored table can stay as it is, but for new columns.

    Removing a column means replacing the whole table, after which no query can continue to read its changes.
    So if some queries do, the column stays, without new values.
    """
    if table.appends:
        return False
    if not table_exists(session, path):
        return True
    stored = {field.name.lower(): field for field in read_rows(session, path).schema.fields}
    columns = {column.name.lower(): column for column in table.columns}
    return (changes or stored.keys() <= columns.keys()) and all(
        stored[name].dataType == type(stored[name].dataType).fromDDL(str(column.type))
        for name, column in columns.items()
        if name in stored
    )
