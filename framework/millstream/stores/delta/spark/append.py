"""Appends the rows of a batch to a table without a key, once."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from millstream.core.expressions import quote_name
from millstream.queries.values import TableOutput
from millstream.stores.deletions import deleted_sql
from millstream.stores.delta.spark import table
from millstream.stores.retention import NewestTime, with_retention
from millstream.stores.spark import TableBatch

_ROWS = "_millstream_appended"
"""The view of a batch."""


def append_rows(
    rows: DataFrame,
    output: TableOutput,
    path: str,
    batch: TableBatch,
    newest: Callable[[], NewestTime | None],
) -> None:
    """Append the rows of a batch that are not too old; `newest` is the newest time before the batch."""
    session = rows.sparkSession
    with with_retention(rows, output, newest, local=batch.local) as (retained, limit):
        if limit is not None:
            table.write_newest(session, path, limit.newest)
        with table.skip_repeated(session, batch.writer, batch.number):
            if not batch.deletes:
                retained.write.format("delta").mode("append").save(path)
                return
            retained.createOrReplaceTempView(_ROWS)
            with table.reading_source_again(session, allowed=batch.local):
                session.sql(_deleting_sql(output, path))


def _deleting_sql(output: TableOutput, path: str) -> str:
    """Return the statement that appends rows, but deletes those of rows with `_deleted`."""
    names = [quote_name(column.name) for column in output.columns]
    values = ", ".join(f"new.{name}" for name in names)
    return "\n".join(
        (
            f"merge into {table.table_at(path)} as old",
            f"using {_ROWS} as new",
            f"on new._deleted and {deleted_sql(output, 'old', 'new')}",
            "when matched then delete",
            f"when not matched and not new._deleted then insert ({', '.join(names)}) values ({values})",  # noqa: S608
        )
    )


def delete_expired(session: SparkSession, output: TableOutput, path: str) -> None:
    """Delete rows older than `retention`: files of which all rows are older are not read for that."""
    none = session.createDataFrame([], table.read_rows(session, path).schema)
    newest = table.read_newest(session, output, path)
    with with_retention(none, output, lambda: newest, local=True) as (_, limit):
        if limit is not None:
            session.sql(f"delete from {table.table_at(path)} where {limit.expired()}")  # noqa: S608
