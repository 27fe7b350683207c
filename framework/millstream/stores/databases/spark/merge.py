"""Stores the rows of a batch: each batch is stored once, in one transaction, even if it is repeated.

The rows of a range are replaced in the same way.

Workers copy the rows of their partitions into a staging table, with an id for each attempt. The driver merges
the attempts that Spark counts. Rows of killed or repeated tasks are never read.
"""

from __future__ import annotations

from hashlib import blake2b

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.queries.values import TableOutput
from millstream.stores.databases.dialect import Connection, Dialect
from millstream.stores.databases.schema import DatabaseSchema, stored_name
from millstream.stores.databases.spark.retention import expire_rows, read_newest
from millstream.stores.databases.spark.transfer import RowTransfer
from millstream.stores.databases.sql import WrittenSql, parameters, write_sql
from millstream.stores.databases.staging import ATTEMPT, DELETED
from millstream.stores.databases.table import BATCHES, column_type, table_name
from millstream.stores.retention import with_retention
from millstream.stores.spark import TableBatch

_COPIED = "attempt string, rows bigint, failed string"


def merge_batch(
    batch_rows: DataFrame,
    table: TableOutput,
    schema: DatabaseSchema,
    transfer: RowTransfer,
    batch: TableBatch,
) -> None:
    """Store the newest row of each key; a row replaces one that is not newer by `order_by`."""
    staging, dialect = _staging_name(batch.writer, table), schema.dialect
    try:
        with dialect.open(schema) as connection:
            if _is_stored(connection, table, batch):
                return
            _create_staging(dialect, connection, staging, table)
        retained = with_retention(batch_rows, table, lambda: read_newest(schema, table), local=batch.local)
        with retained as (rows, limit):
            attempts = _copy(rows, table, schema, transfer, staging, deletes=batch.deletes)
        with dialect.open(schema) as connection:
            number = (batch.writer, table.model, batch.number)
            # A concurrent attempt waits here.
            if connection.execute(dialect.record_batch(BATCHES), number).rowcount:
                _merge(schema, connection, table, staging, attempts, deletes=batch.deletes)
                if limit is not None:
                    expire_rows(dialect, connection, table, limit)
            connection.commit()  # in MySQL, dropping a table does so, too
            _drop_staging(connection, staging)
    except dialect.error as error:
        raise _refused(table, dialect.reason(error), schema) from None


def replace_rows(
    rows: DataFrame, table: TableOutput, schema: DatabaseSchema, transfer: RowTransfer, part: TimeRange
) -> None:
    """Replace the rows of a range in one transaction, without those that are too old."""
    staging, dialect = _staging_name("range", table), schema.dialect
    try:
        with dialect.open(schema) as connection:
            _create_staging(dialect, connection, staging, table)
        with with_retention(rows, table, lambda: read_newest(schema, table), local=False) as (retained, _):
            attempts = _copy(retained, table, schema, transfer, staging, deletes=False)
        with dialect.open(schema) as connection:
            _delete_range(dialect, connection, table, part)
            _merge(schema, connection, table, staging, attempts, deletes=False)
            connection.commit()  # in MySQL, dropping a table does so, too
            _drop_staging(connection, staging)
    except dialect.error as error:
        raise _refused(table, dialect.reason(error), schema) from None


def _delete_range(dialect: Dialect, connection: Connection, table: TableOutput, part: TimeRange) -> None:
    kind = WrittenSql(column_type(dialect, table, Column(part.column, part.type)))
    text = "delete from {table} where {column} >= cast(%s as {kind}) and {column} < cast(%s as {kind})"
    statement = write_sql(text, table=table_name(table), column=stored_name(part.column), kind=kind)
    bounds = (dialect.time_of_text(text, part.type) for text in (part.start, part.end))
    connection.execute(statement, tuple(bounds))


def _staging_name(writer: str, table: TableOutput) -> str:
    digest = blake2b(f"{writer} {table.model}".encode(), digest_size=8).hexdigest()
    return f"millstream_{digest}"


def _drop_staging(connection: Connection, staging: str) -> None:
    connection.execute(write_sql("drop table if exists {staging}", staging=staging), ())


def _is_stored(connection: Connection, table: TableOutput, batch: TableBatch) -> bool:
    text = "select 1 from {batches} where query = %s and relation = %s and batch >= %s"
    cursor = connection.execute(write_sql(text, batches=BATCHES), (batch.writer, table.model, batch.number))
    return cursor.fetchone() is not None


def _create_staging(dialect: Dialect, connection: Connection, staging: str, table: TableOutput) -> None:
    columns = [
        write_sql(
            "{name} {kind}",
            name=stored_name(column.name),
            kind=WrittenSql(column_type(dialect, table, column)),
        )
        for column in table.columns
    ]
    _drop_staging(connection, staging)
    text = "{create} {staging} ({columns}, {deleted} boolean, {attempt} char(32)){options}"
    parts: dict[str, str] = {"staging": staging, "deleted": DELETED, "attempt": ATTEMPT}
    parts |= {"create": dialect.staging, "options": dialect.table_options(connection)}
    connection.execute(write_sql(text, columns=columns, **parts), ())


def _copy(
    batch: DataFrame,
    table: TableOutput,
    schema: DatabaseSchema,
    transfer: RowTransfer,
    staging: str,
    *,
    deletes: bool,
) -> list[tuple[str, int]]:
    """Copy all partitions; return the successful attempts, and how many rows each copied."""
    deleted = f.coalesce(f.col(DELETED), f.lit(False)) if deletes else f.lit(False)
    names = [stored_name(column.name) for column in table.columns]
    values = [transfer.value(column).alias(name) for column, name in zip(table.columns, names, strict=True)]
    rows = batch.select(*values, deleted.alias(DELETED))
    copier = transfer.copier(schema, staging, [*names, DELETED], ATTEMPT)
    copied = rows.mapInArrow(copier, _COPIED).collect()
    for row in copied:
        if row.failed:
            raise _refused(table, row.failed, schema)
    return [(row.attempt, row.rows) for row in copied]


def _merge(
    schema: DatabaseSchema,
    connection: Connection,
    table: TableOutput,
    staging: str,
    attempts: list[tuple[str, int]],
    *,
    deletes: bool,
) -> None:
    if not attempts:
        return
    ids = tuple(attempt for attempt, _ in attempts)
    counted = "select count(*) from {staging} where {attempt} in ({ids})"
    text = write_sql(counted, staging=staging, attempt=ATTEMPT, ids=parameters(ids))
    if connection.execute(text, ids).fetchone()[0] != sum(rows for _, rows in attempts):
        raise _refused(table, "another run of the same query is storing this batch", schema)
    dialect = schema.dialect
    statements = dialect.deletes(table, staging, parameters(ids)) if deletes else ()
    for statement in (*statements, *dialect.upsert(table, staging, parameters(ids))):
        connection.execute(statement, ids)


def _refused(table: TableOutput, reason: str, schema: DatabaseSchema) -> MillstreamError:
    name = table.model.shown_name
    message = f"{schema.dialect.title} can't store rows of '{name}': {schema.masked(reason)}"
    remedy = "fix the cause; no row of the batch was stored, and it is stored again at the next start"
    return MillstreamError(Diagnostic("MS855", message, None, remedy))
