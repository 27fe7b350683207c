"""How rows get from Spark's workers into a database, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.core.types import STRING, VARIANT
from millstream.plan.nodes import Column
from millstream.stores.databases.schema import NESTED, DatabaseSchema

_JSON = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}

Copier: TypeAlias = Callable[[Iterable[Any]], Iterator[Any]]
"""Copies the Arrow batches of a partition; yields a row with its attempt, its count and why it failed.

It runs on a worker, which only needs pyarrow and the client library of the database.
"""


class RowTransfer(Protocol):
    def value(self, column: Column) -> SparkColumn:
        """Return a column of a batch as a value that the copier sends."""

    def copier(self, schema: DatabaseSchema, staging: str, columns: Sequence[str], attempt: str) -> Copier:
        """Return what copies rows into a staging table, with an id of the attempt in the last column."""

    def read(
        self, session: SparkSession, schema: DatabaseSchema, relation: NodeId, columns: Sequence[Column]
    ) -> DataFrame:
        """Return the rows of a table, with those of `columns` that it has; all if there are none.

        Each scan reads the database again.
        """


def value_or_json(column: Column) -> SparkColumn:
    """Return the value of a column; what databases store as JSON as text."""
    value = f.col(quote_name(column.name))
    if isinstance(column.type, NESTED):
        return f.to_json(value, _JSON)
    return f.to_json(value) if column.type == VARIANT else value


def read_value(column: Column, stored: SparkColumn) -> SparkColumn:
    """Return a stored value as it was; `stored` is JSON where `value_or_json` made it."""
    if isinstance(column.type, NESTED):
        return f.from_json(stored, str(column.type))
    if column.type == VARIANT:
        return f.parse_json(stored)
    # A varchar is a string, but Spark sends no conditions on one that is cast.
    return stored if column.type == STRING else stored.cast(str(column.type))
