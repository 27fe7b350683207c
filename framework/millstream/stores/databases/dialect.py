"""The SQL of a database: what its tables, batches and queries need, and no two databases write alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.core.types import Type
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.databases.sql import WrittenSql
from millstream.stores.tables.relations import StoredRelation

Connection: TypeAlias = Any
"""A connection within a transaction: `execute(sql, parameters)` returns a cursor, `commit()` begins another.

Parameters are always passed, even if there are none, so that `%%` means `%`.
"""


class TableSchema(Protocol):
    """A schema with tables, as in `stores.databases.schema`."""

    @property
    def schema(self) -> str: ...

    def of(self, relation: NodeId) -> TableSchema:
        """Return where a table is read."""


class UniqueKey(Struct, frozen=True):
    """A unique index of a table, or its primary key."""

    columns: list[str]
    """Sorted by name."""
    holds_null: bool
    """Whether a table can have one row whose key is NULL."""
    primary: bool = False


class RecordTypes(Struct, frozen=True):
    """Types of the columns of tables in which Millstream records what it has stored."""

    name: WrittenSql
    content: WrittenSql
    time: WrittenSql


class QueryRefusal(Struct, frozen=True):
    """Why a database refuses a user's query."""

    message: str
    hint: str | None = None
    table: str | None = None
    """The table that does not exist."""
    word: str | None = None
    """The name in the query that is wrong."""
    text: str | None = None
    """The text of the query that is wrong."""
    position: int | None = None
    """The index of the wrong text in the query."""


class Dialect(Protocol):
    title: str
    """The name of the database in messages."""
    error: type[Exception]
    """What the client library raises."""
    longest_name: int
    name_unit: str
    record_types: RecordTypes
    staging: WrittenSql
    """How a table for the rows of one batch is created."""
    nested_as_text: WrittenSql
    """The text of a nested value in the column `{column}`."""

    def open(
        self, schema: TableSchema, *, zone: str = "UTC", read_only: bool = False
    ) -> AbstractContextManager[Connection]:
        """Open one transaction, which is committed unless an exception is raised."""

    def reason(self, error: Exception) -> str:
        """Return the message of an error, without the name of its type."""

    def refusal(self, error: Exception, before: str, /) -> QueryRefusal:
        """Return what is wrong with a user's query; `before` is what was written before it."""

    def server(self, connection: Connection) -> str:
        """Return the version of the server."""

    def lock(self, connection: Connection) -> None:
        """Wait until no other run creates tables. The lock ends with the transaction or the connection."""

    def create_schema(self, connection: Connection, schema: TableSchema) -> None:
        """Create the schema, if it does not exist."""

    def drop_schema(self, connection: Connection, schema: TableSchema) -> None: ...

    def tables(self, connection: Connection, schema: TableSchema) -> list[str]: ...

    def table_options(self, connection: Connection) -> WrittenSql:
        """Return what to write after the columns of a new table."""

    def columns(self, connection: Connection, name: str) -> dict[str, str]:
        """Return the columns of a table with their types; empty if it does not exist."""

    def unique_keys(self, connection: Connection, name: str) -> list[UniqueKey]: ...

    def key_sql(self, connection: Connection, columns: Sequence[str], *, nullable: bool) -> WrittenSql:
        """Return the definition of the key of a new table."""

    def holds_null_keys(self, connection: Connection) -> bool:
        """Whether a key can be NULL."""

    def column_type(self, table: TableOutput, column: Column) -> str | None:
        """Return the type of a column, as `columns` does; None if there is none."""

    def size(self, connection: Connection, name: str) -> int:
        """Return the bytes of a table's rows."""

    def record_batch(self, batches: str) -> WrittenSql:
        """Return the statement that records a batch, and changes nothing if it is already recorded.

        A concurrent attempt waits for it. Its parameters are the query, the relation and the number.
        """

    def upsert(self, table: TableOutput, staging: str, attempts: WrittenSql) -> Sequence[WrittenSql]:
        """Return statements that store rows of a staging table; each has `attempts` as parameters."""

    def deletes(self, table: TableOutput, staging: str, attempts: WrittenSql) -> Sequence[WrittenSql]:
        """Return statements that delete rows, as `upsert`."""

    def time_as_text(self, column: str, kind: Type) -> WrittenSql:
        """Return the newest time of a column as a text that Spark can cast to the column's type."""

    def time_of_text(self, text: str, kind: Type) -> str:
        """Return a time that Spark has written, as the database reads it."""

    def swap(self, connection: Connection, new: str, name: str, *, same_shape: bool) -> None:
        """Replace the rows of a table by those of another one, which is dropped."""

    def copy(self, connection: Connection, name: str, copy: str) -> None:
        """Replace a table by a copy of another one."""

    def narrowed(
        self, connection: Connection, query: str, schema: TableSchema, tables: Sequence[StoredRelation]
    ) -> tuple[str, str, str]:
        """Return what to write before a query, the query, and what to write after it.

        It then reads the columns that models have: one that a model no longer has stays in its table until
        that is rebuilt. In an environment, it reads production's tables that were not built there.
        """

    def fetch(
        self, connection: Connection, text: str, count: int | None, tables: Mapping[str, StoredRelation]
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Run a user's query, and return its columns and first rows."""
