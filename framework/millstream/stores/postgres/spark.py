"""Tables in PostgreSQL with Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.core.types import BINARY
from millstream.plan.nodes import Column
from millstream.project.values import Target
from millstream.stores.databases.schema import DatabaseSchema, stored_name
from millstream.stores.databases.spark.tables import DatabaseTables
from millstream.stores.databases.spark.transfer import Copier, read_value, value_or_json
from millstream.stores.databases.sql import write_sql
from millstream.stores.postgres.schema import PostgresSchema, postgres_schema
from millstream.stores.spark import SparkTables


class PostgresTransfer(Struct, frozen=True):
    def value(self, column: Column) -> SparkColumn:
        """Return a column as a value that fits into PostgreSQL's CSV."""
        value = value_or_json(column)
        return f.concat(f.lit("\\x"), f.hex(value)) if column.type == BINARY else value

    def copier(self, schema: DatabaseSchema, staging: str, columns: Sequence[str], attempt: str) -> Copier:
        text = write_sql(
            "copy {schema}.{staging} ({columns}, {attempt}) from stdin (format csv, encoding 'UTF8')",
            schema=schema.schema,
            staging=staging,
            columns=columns,
            attempt=attempt,
        )
        options = cast("PostgresSchema", schema).options
        return _copier(schema.url, options, text.replace("%%", "%"), attempt)

    def read(
        self, session: SparkSession, schema: DatabaseSchema, relation: NodeId, columns: Sequence[Column]
    ) -> DataFrame:
        options = {
            "url": "jdbc:postgresql:" + schema.url.partition(":")[2],
            "dbtable": f'"{schema.schema}"."{stored_name(relation.name)}"',
            "driver": "org.postgresql.Driver",
        }
        credentials = {"user": schema.username, "password": schema.clear_password}
        options |= {name: value for name, value in credentials.items() if value is not None}
        stored_rows = session.read.format("jdbc").options(**options).load()
        read = [_read(column) for column in columns if stored_name(column.name) in stored_rows.columns]
        return stored_rows.select(*read) if read else stored_rows


def connect(target: Target, _root: Path, _session: SparkSession) -> SparkTables:
    return DatabaseTables(postgres_schema(target), PostgresTransfer())


def _read(column: Column) -> SparkColumn:
    return read_value(column, f.col(quote_name(stored_name(column.name)))).alias(column.name)


def _copier(url: str, options: dict[str, Any], text: str, attempt_column: str) -> Copier:
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
