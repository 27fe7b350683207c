"""Creates, merges and reads one Delta table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.core.encoding import to_json
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import quote_name, sql_literal
from millstream.plan.nodes import Column
from millstream.queries.commands import full_refresh
from millstream.queries.values import TableOutput
from millstream.stores.delta.spark import small_tables
from millstream.stores.delta.spark.arrangement import arrange_files, arrangement_sql
from millstream.stores.files import read_json
from millstream.stores.hadoop_files import files_of
from millstream.stores.key_ranges import key_ranges
from millstream.stores.retention import NewestTime, RetentionLimit, newest_time
from millstream.stores.session_settings import use_settings

_APP = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_MATERIALIZE = "spark.databricks.delta.merge.materializeSource"
_NEWEST = "_millstream_newest.json"
"""A file in the table's folder; Delta ignores names that begin with `_`."""
_PROPERTIES = {
    "delta.enableDeletionVectors": "false",
    "delta.checkpointInterval": "100",
    # Each batch is a version: a month of them would make the log slow.
    "delta.logRetentionDuration": "interval 7 days",
}


def create_table(session: SparkSession, table: TableOutput, path: str, *, changes: bool) -> bool:
    """Create the table, or add missing columns; return whether it is new.

    With `changes`, it gets a change feed.
    """
    new = not table_exists(session, path)
    if new:
        _remove_remains(session, table, path)
    columns = ", ".join(f"{quote_name(column.name)} {column.type}" for column in table.columns)
    properties = _PROPERTIES | {small_tables.FEED: str(changes).lower()}
    properties |= small_tables.small_properties(session, table, path)
    session.sql(
        f"create table if not exists {table_at(path)} ({columns}) using delta "
        f"{arrangement_sql(table)} tblproperties ({_written(properties)})"
    )
    if not new and table.appends:
        arrange_files(session, table, table_at(path))
    if not new and small_tables.writes_other_timestamps(session):
        leave_to_spark(session, path)
    if changes and not new:
        session.sql(
            f"alter table {table_at(path)} set tblproperties ({_written({small_tables.FEED: 'true'})})"
        )
    existing = {field.name.lower(): field for field in session.read.format("delta").load(path).schema.fields}
    missing: list[Column] = []
    for column in table.columns:
        if (field := existing.get(column.name.lower())) is None:
            missing.append(column)
        elif field.dataType != type(field.dataType).fromDDL(str(column.type)):
            name, was = table.model.shown_name, field.dataType.simpleString()
            types = f"has type {was}, but {column.type} in the model"
            message = f"column '{column.name}' of the table '{name}' {types}"
            remedy = f"rebuild it: {full_refresh([table.model])}"
            raise MillstreamError(Diagnostic("MS866", message, None, remedy))
    if missing:
        added = ", ".join(f"{quote_name(column.name)} {column.type}" for column in missing)
        session.sql(f"alter table {table_at(path)} add columns ({added})")
    return new


def _remove_remains(session: SparkSession, table: TableOutput, path: str) -> None:
    """Remove what a killed process left of a table that it was creating or removing.

    Delta creates no table where a folder has anything in it (`SupportsPathIdentifier.tableExists`).
    """
    files = files_of(path, session)
    names = files.names(path)
    if names and (table.is_version or set(names) <= {"_delta_log"}):
        files.remove(path)


def leave_to_spark(session: SparkSession, path: str) -> None:
    """Leave a table to Spark alone."""
    names = ", ".join(map(sql_literal, small_tables.PROPERTIES))
    session.sql(f"alter table {table_at(path)} unset tblproperties if exists ({names})")


def share_table(session: SparkSession, table: TableOutput, path: str) -> None:
    """Let small batches be stored without Spark, if possible; all rows of the table were written just now."""
    if properties := small_tables.small_properties(session, table, path):
        session.sql(f"alter table {table_at(path)} set tblproperties ({_written(properties)})")


def _written(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{sql_literal(name)} = {sql_literal(value)}" for name, value in properties.items())


def table_exists(session: SparkSession, path: str) -> bool:
    java: Any = session._jvm  # noqa: SLF001 -- PySpark has no API for this
    return bool(java.io.delta.tables.DeltaTable.isDeltaTable(session._jsparkSession, path))  # noqa: SLF001


def read_newest(session: SparkSession, table: TableOutput, path: str) -> NewestTime | None:
    """Return the newest time in a table; it is computed if the table had no retention before."""
    stored = read_json(files_of(path, session), f"{path}/{_NEWEST}", NewestTime)
    if stored is not None and stored.column.lower() == str(table.options["order_by"]).lower():
        return stored
    return newest_time(read_rows(session, path), table)


def write_newest(session: SparkSession, path: str, newest: NewestTime) -> None:
    """Store the newest time before the batch, so that a repeated batch reads the same time."""
    files_of(path, session).write(f"{path}/{_NEWEST}", to_json(newest))


def read_rows(session: SparkSession, path: str) -> DataFrame:
    return session.read.format("delta").load(path)


def of_model(rows: DataFrame, columns: Iterable[Column]) -> DataFrame:
    """Leave out columns that the model no longer has: they stay stored while a query follows the table."""
    stored = {name.lower(): name for name in rows.columns}
    names = [stored[column.name.lower()] for column in columns if column.name.lower() in stored]
    return rows.select(*map(quote_name, names)) if names else rows


def near_sql(session: SparkSession, new_rows: DataFrame, table: TableOutput, path: str) -> Sequence[str]:
    """Return conditions that rows with one of the keys of `new_rows` meet; those are in the driver."""
    types = {field.name.lower(): field.dataType for field in read_rows(session, path).schema}
    names = {f"old.{quote_name(key)}": key for key in table.keys}
    return key_ranges(new_rows, names, {f"old.{quote_name(key)}": types[key.lower()] for key in table.keys})


def merge_sql(
    table: TableOutput,
    view: str,
    path: str,
    *,
    deletes: bool,
    limit: RetentionLimit | None,
    near: Sequence[str] = (),
) -> str:
    """Return the statement that stores a batch; Delta only reads files that can have rows that are `near`."""
    names = [quote_name(column.name) for column in table.columns]
    on = " and ".join((*(f"old.{quote_name(key)} <=> new.{quote_name(key)}" for key in table.keys), *near))
    order_by = table.options.get("order_by")
    newer = ""
    if order_by:
        column = quote_name(order_by)
        newer = f" and (old.{column} is null or new.{column} >= old.{column})"
    lines = [f"merge into {table_at(path)} as old", f"using {view} as new", f"on {on}"]
    if deletes:
        lines.append(f"when matched and new._deleted{newer} then delete")
    condition = newer if deletes else newer.removeprefix(" and")
    matched = " and not new._deleted" + condition if deletes else (f" and{condition}" if condition else "")
    lines.append(f"when matched{matched} then update set {', '.join(f'{n} = new.{n}' for n in names)}")
    unmatched = " and not new._deleted" if deletes else ""
    values = ", ".join(f"new.{name}" for name in names)
    lines.append(f"when not matched{unmatched} then insert ({', '.join(names)}) values ({values})")  # noqa: S608
    if limit is not None:
        # Matched rows need no such clause: neither the new row nor a newer one that it keeps is too old.
        lines.append(f"when not matched by source and {limit.expired('old')} then delete")
    return "\n".join(lines)


def skip_repeated(session: SparkSession, app: str, batch: int) -> AbstractContextManager[None]:
    """Let Delta skip a batch that it already has; the settings are of the batch's own session."""
    return use_settings(session, {_APP: app, _VERSION: str(batch)})


def reading_source_again(session: SparkSession, *, allowed: bool) -> AbstractContextManager[None]:
    """Let a MERGE read its source twice, if `allowed` and not set otherwise; else Delta stores it first."""
    free = allowed and session.conf.get(_MATERIALIZE, None) is None
    return use_settings(session, {_MATERIALIZE: "none"} if free else {})


def table_at(path: str) -> str:
    return f"delta.`{path.replace('`', '``')}`"
