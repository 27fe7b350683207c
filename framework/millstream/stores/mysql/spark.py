"""Tables in MySQL with Spark."""

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
from millstream.core.types import DATE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, Decimal
from millstream.plan.nodes import Column
from millstream.project.values import Target
from millstream.stores.databases.schema import DatabaseSchema, stored_name
from millstream.stores.databases.spark.tables import DatabaseTables
from millstream.stores.databases.spark.transfer import Copier, read_value, value_or_json
from millstream.stores.databases.sql import parameters, write_sql
from millstream.stores.mysql.schema import MysqlSchema, mysql_schema
from millstream.stores.spark import SparkTables

_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_FETCHED = 10_000
"""How many rows Spark's client reads at once; by default all."""


class MysqlTransfer(Struct, frozen=True):
    def value(self, column: Column) -> SparkColumn:
        """Return a column as a value that Python can write; times and decimals are texts."""
        value = value_or_json(column)
        if column.type == TIMESTAMP:
            # Independent of the session's time zone.
            since = value - f.expr("timestamp'1970-01-01 00:00:00Z'")
            return (f.expr("timestamp_ntz'1970-01-01 00:00:00'") + since).cast("string")
        if column.type in _TIMES or isinstance(column.type, Decimal):
            return value.cast("string")
        return value.cast("double") if column.type == FLOAT else value

    def copier(self, schema: DatabaseSchema, staging: str, columns: Sequence[str], attempt: str) -> Copier:
        from millstream.stores.mysql.connection import MODE

        names = [*columns, attempt]
        text = write_sql(
            "insert into {schema}.{staging} ({names}) values ({values})",
            schema=schema.schema,
            staging=staging,
            names=names,
            values=parameters(names),
        )
        options = cast("MysqlSchema", schema).options | {"sql_mode": MODE, "binary_prefix": True}
        return _copier(options, text)

    def read(
        self, session: SparkSession, schema: DatabaseSchema, relation: NodeId, columns: Sequence[Column]
    ) -> DataFrame:
        name = stored_name(relation.name)
        with schema.dialect.open(schema) as connection:
            stored = schema.dialect.columns(connection, name)
        read = [column for column in columns if stored_name(column.name) in stored]
        # Java's classes of times have gaps in summer time and another calendar before 1582.
        items = ", ".join(map(_item, read)) or "*"
        # Quoted names.
        table = f"(select {items} from {quote_name(schema.schema)}.{quote_name(name)}) as stored"  # noqa: S608
        options = _jdbc_options(cast("MysqlSchema", schema)) | {"dbtable": table}
        stored_rows = session.read.format("jdbc").options(**options).load()
        return stored_rows.select(*map(_read, read)) if read else stored_rows


def connect(target: Target, _root: Path, _session: SparkSession) -> SparkTables:
    return DatabaseTables(mysql_schema(target), MysqlTransfer())


def _jdbc_options(schema: MysqlSchema) -> dict[str, str]:
    """Return options with which Spark writes MySQL's SQL, for MariaDB's client, which knows both servers."""
    host = f"[{schema.host}]" if ":" in schema.host else schema.host
    options = {
        "url": f"jdbc:mysql://{host}:{schema.port}/?permitMysqlScheme",
        "driver": "org.mariadb.jdbc.Driver",
        "fetchsize": str(_FETCHED),
        # Spark doubles the quotes within texts, and no backslashes.
        "sessionVariables": "sql_mode='NO_BACKSLASH_ESCAPES'",
    }
    if schema.certificate:
        options |= {"sslMode": "verify-full", "serverSslCert": schema.certificate}
    credentials = {"user": schema.username, "password": schema.clear_password}
    return options | {name: value for name, value in credentials.items() if value is not None}


def _item(column: Column) -> str:
    name = quote_name(stored_name(column.name))
    return f"cast({name} as char) as {name}" if column.type in _TIMES else name


def _read(column: Column) -> SparkColumn:
    stored = f.col(quote_name(stored_name(column.name)))
    if column.type == TIMESTAMP:
        stored = f.concat(stored, f.lit("Z"))
    return read_value(column, stored).alias(column.name)


def _copier(options: dict[str, Any], text: str) -> Copier:
    def copy(batches: Iterable[Any]) -> Iterator[Any]:
        import itertools
        import uuid
        from contextlib import closing

        import pyarrow as pa
        import pymysql

        attempt, rows, failed = uuid.uuid4().hex, 0, None
        schema = pa.schema({"attempt": pa.string(), "rows": pa.int64(), "failed": pa.string()})
        full = (batch for batch in batches if batch.num_rows)
        if (first := next(full, None)) is None:
            return
        try:
            with closing(pymysql.connect(**options)) as connection, connection.cursor() as cursor:
                for batch in itertools.chain([first], full):
                    columns = [column.to_pylist() for column in batch.columns]
                    ids = itertools.repeat(attempt, batch.num_rows)
                    cursor.executemany(text, list(zip(*columns, ids, strict=True)))
                    rows += batch.num_rows
                connection.commit()
        except (pymysql.Error, UnicodeDecodeError) as error:
            failed = str(error.args[-1]) if error.args else str(error)
        yield pa.RecordBatch.from_pylist([{"attempt": attempt, "rows": rows, "failed": failed}], schema)

    return copy
