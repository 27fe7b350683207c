"""Reads tables in PostgreSQL for models that look them up."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.stores.postgres.schema import NESTED, PostgresSchema, stored_name


def read_rows(
    session: SparkSession, schema: PostgresSchema, relation: NodeId, columns: Iterable[Column]
) -> DataFrame:
    """Return the rows of a model's table, with those of `columns` that it has; all if there are none.

    Each scan reads the database again.
    """
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


def _read(column: Column) -> SparkColumn:
    stored = f.col(quote_name(stored_name(column.name)))
    nested = isinstance(column.type, NESTED)
    read = f.from_json(stored, str(column.type)) if nested else stored.cast(str(column.type))
    return read.alias(column.name)
