"""Merges batches into PostgreSQL tables: each is stored once, in one transaction, even if it is repeated.

Workers copy the rows of their partitions into a staging table, with an id for each attempt. The driver merges
the attempts that Spark counts. Rows of killed or repeated tasks are never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.types import BINARY, VARIANT
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.postgres.connection import open_transaction
from millstream.stores.postgres.schema import NESTED, PostgresSchema, stored_name
from millstream.stores.postgres.spark.retention import expire_rows, read_newest
from millstream.stores.postgres.table import BATCHES, column_type, table_name
from millstream.stores.retention import with_retention
from millstream.stores.spark import TableBatch

_ATTEMPT = "_millstream_attempt"
_DELETED = "_deleted"
_JSON = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
_COPIED = "attempt string, rows bigint, failed string"

Connection = psycopg.Connection[Any]


def merge_batch(batch_rows: DataFrame, table: TableOutput, schema: PostgresSchema, batch: TableBatch) -> None:
    """Store the newest row of each key; a row replaces one that is not newer by `order_by`."""
    digest = blake2b(f"{batch.writer} {table.model}".encode(), digest_size=8).hexdigest()
    staging = sql.Identifier(f"millstream_{digest}")
    try:
        with open_transaction(schema) as connection:
            if _is_stored(connection, table, batch):
                return
            _create_staging(connection, staging, table)
        retained = with_retention(batch_rows, table, lambda: read_newest(schema, table), local=batch.local)
        with retained as (rows, limit):
            attempts = _copy(rows, table, schema, staging, deletes=batch.deletes)
        with open_transaction(schema) as connection:
            if _record(connection, table, batch):
                _merge(connection, table, staging, attempts, deletes=batch.deletes)
                if limit is not None:
                    expire_rows(connection, table, limit)
            connection.execute(sql.SQL("drop table if exists {}").format(staging))
    except psycopg.Error as error:
        raise _refused(table, error.diag.message_primary or str(error), schema) from None


def _is_stored(connection: Connection, table: TableOutput, batch: TableBatch) -> bool:
    text = sql.SQL("select 1 from {} where query = %s and relation = %s and batch >= %s")
    cursor = connection.execute(text.format(BATCHES), (batch.writer, table.model, batch.number))
    return cursor.fetchone() is not None


def _record(connection: Connection, table: TableOutput, batch: TableBatch) -> bool:
    """Record the batch; return False if it is already recorded. A concurrent attempt waits here."""
    text = sql.SQL(
        "insert into {0} as old (query, relation, batch, stored_at) values (%s, %s, %s, now())"
        " on conflict (query, relation) do update set batch = excluded.batch, stored_at = now()"
        " where old.batch < excluded.batch returning 1"
    )
    cursor = connection.execute(text.format(BATCHES), (batch.writer, table.model, batch.number))
    return cursor.fetchone() is not None


def _create_staging(connection: Connection, staging: sql.Identifier, table: TableOutput) -> None:
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(_name(column), sql.SQL(column_type(table, column)))
        for column in table.columns
    )
    connection.execute(sql.SQL("drop table if exists {}").format(staging))
    connection.execute(
        sql.SQL("create unlogged table {} ({}, {} boolean, {} text)").format(
            staging, columns, sql.Identifier(_DELETED), sql.Identifier(_ATTEMPT)
        )
    )


def _copy(
    batch: DataFrame, table: TableOutput, schema: PostgresSchema, staging: sql.Identifier, *, deletes: bool
) -> list[tuple[str, int]]:
    """Copy all partitions; return the successful attempts, and how many rows each copied."""
    deleted = f.coalesce(f.col(_DELETED), f.lit(False)) if deletes else f.lit(False)
    rows = batch.select(*(_csv_value(column) for column in table.columns), deleted.alias(_DELETED))
    names = [*map(_name, table.columns), sql.Identifier(_DELETED), sql.Identifier(_ATTEMPT)]
    target = sql.SQL("{}.{}").format(sql.Identifier(schema.schema), staging)
    text = sql.SQL("copy {} ({}) from stdin (format csv, encoding 'UTF8')").format(
        target, sql.SQL(", ").join(names)
    )
    copier = _copier(schema.url, schema.options, text.as_string(), _ATTEMPT)
    copied = rows.mapInArrow(copier, _COPIED).collect()
    for row in copied:
        if row.failed:
            raise _refused(table, row.failed, schema)
    return [(row.attempt, row.rows) for row in copied]


def _copier(
    url: str, options: dict[str, Any], text: str, attempt_column: str
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function that copies a partition on a worker, which only needs psycopg and pyarrow."""

    def copy(batches: Iterable[Any]) -> Iterator[Any]:
        import io
        import itertools
        import uuid

        import psycopg
        import pyarrow as pa
        from pyarrow import csv

        attempt, rows, failed = uuid.uuid4().hex, 0, None
        schema = pa.schema({"attempt": pa.string(), "rows": pa.int64(), "failed": pa.string()})
        written = csv.WriteOptions(include_header=False)
        full = (batch for batch in batches if batch.num_rows)
        if (first := next(full, None)) is None:
            return
        try:
            with psycopg.connect(url, **options) as connection, connection.cursor().copy(text) as out:
                for batch in itertools.chain([first], full):
                    name = pa.array([attempt] * batch.num_rows, pa.string())
                    buffer = io.BytesIO()
                    csv.write_csv(batch.append_column(attempt_column, name), buffer, written)
                    out.write(buffer.getvalue())
                    rows += batch.num_rows
        except psycopg.Error as error:
            failed = error.diag.message_primary or str(error)
        yield pa.RecordBatch.from_pylist([{"attempt": attempt, "rows": rows, "failed": failed}], schema)

    return copy


def _csv_value(column: Column) -> Any:
    """Return a column as a value that fits into PostgreSQL's CSV."""
    value = f.col(f"`{column.name.replace('`', '``')}`")
    if isinstance(column.type, NESTED):
        value = f.to_json(value, _JSON)
    elif column.type == VARIANT:
        value = f.to_json(value)
    elif column.type == BINARY:
        value = f.concat(f.lit("\\x"), f.hex(value))
    return value.alias(stored_name(column.name))


def _merge(
    connection: Connection,
    table: TableOutput,
    staging: sql.Identifier,
    attempts: list[tuple[str, int]],
    *,
    deletes: bool,
) -> None:
    ids = [attempt for attempt, _ in attempts]
    counted = sql.SQL("select count(*) from {} where {} = any(%s)").format(staging, sql.Identifier(_ATTEMPT))
    row = connection.execute(counted, (ids,)).fetchone()
    if row is None or row[0] != sum(rows for _, rows in attempts):
        raise _refused(table, "another run of the same query is storing this batch")
    if deletes:
        for text in _delete_sql(table, staging):
            connection.execute(text, (ids,))
    connection.execute(_upsert_sql(table, staging), (ids,))


def _upsert_sql(table: TableOutput, staging: sql.Identifier) -> sql.Composed:
    names = [_name(column) for column in table.columns]
    keys = [sql.Identifier(stored_name(key)) for key in table.keys]
    rest = [name for name in names if name not in keys]
    update: sql.Composable = sql.SQL("nothing")
    if rest and keys:
        sets = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(name) for name in rest)
        newer = _newer(table, "excluded")
        update = sql.SQL("update set {}{}").format(
            sets, sql.SQL(" where {}").format(newer) if newer else sql.SQL("")
        )
    return sql.SQL("insert into {} as old ({}) select {} from {} where {} = any(%s) and not {}{}").format(
        table_name(table),
        sql.SQL(", ").join(names),
        sql.SQL(", ").join(names),
        staging,
        sql.Identifier(_ATTEMPT),
        sql.Identifier(_DELETED),
        sql.SQL(" on conflict ({}) do {}").format(sql.SQL(", ").join(keys), update) if keys else sql.SQL(""),
    )


def _delete_sql(table: TableOutput, staging: sql.Identifier) -> Iterator[sql.Composed]:
    """Delete by equal keys, which uses an index; then rows with NULL in their key, which can't use one."""
    keys = [sql.Identifier(stored_name(key)) for key in table.deleted_by]
    text = "delete from {} as old using {} as new where new.{} = any(%s) and new.{} and {}"
    newer = _newer(table, "new")
    nullable = any(column.nullable for column in table.columns if column.name in table.keys)
    has_null = sql.SQL(" or ").join(sql.SQL("new.{} is null").format(key) for key in keys)
    variants: list[tuple[str, sql.Composed | None]] = [("old.{0} = new.{0}", None)]
    if nullable:
        variants.append(("old.{0} is not distinct from new.{0}", sql.SQL("({})").format(has_null)))
    for same, null_condition in variants:
        conditions = [sql.SQL(same).format(key) for key in keys]
        conditions += [part for part in (null_condition, newer) if part is not None]
        yield sql.SQL(text).format(
            table_name(table),
            staging,
            sql.Identifier(_ATTEMPT),
            sql.Identifier(_DELETED),
            sql.SQL(" and ").join(conditions),
        )


def _newer(table: TableOutput, new: str) -> sql.Composed | None:
    """Return the condition for a row to replace the stored one; NULL is the lowest value."""
    order_by = table.options.get("order_by")
    if not order_by:
        return None
    name = sql.Identifier(stored_name(order_by))
    return sql.SQL("(old.{0} is null or {1}.{0} >= old.{0})").format(name, sql.SQL(new))


def _name(column: Column) -> sql.Identifier:
    return sql.Identifier(stored_name(column.name))


def _refused(table: TableOutput, reason: str, schema: PostgresSchema | None = None) -> MillstreamError:
    reason = schema.masked(reason) if schema else reason
    name = table.model.shown_name
    message = f"PostgreSQL can't store rows of '{name}': {reason}"
    remedy = "fix the cause; no row of the batch was stored, and it is stored again at the next start"
    return MillstreamError(Diagnostic("MS855", message, None, remedy))
