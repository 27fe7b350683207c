"""The port of stores with Spark: how tables are created, written, swapped and read.

What every store promises:

- Each batch is stored exactly once, even if it is repeated, in one transaction with its record.
- A column's type never changes. `create` refuses that before any row is stored.
- Rows older than `retention` are dropped with each batch (see `stores.retention`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.registry import choices_with_change_feed, store_declaration, store_module

KIND, COMMITTED, COMMITTED_AT = "_change_type", "_commit_version", "_commit_timestamp"
"""The columns of `StreamedTables.feed`, next to those of the table."""
MAINTAINED = "millstream/maintained"
"""The writer of differences of maintained tables."""


class TableBatch(Struct, frozen=True):
    writer: str
    """The query and its checkpoint, since each new checkpoint numbers batches from 0 again."""
    number: int
    deletes: bool
    """The rows have a column `_deleted`."""
    new: bool
    """The table is still empty, so there is nothing to merge with."""
    local: bool = False
    """The rows are in the driver: reading them again gives the same rows."""


class TableVersion(Struct, frozen=True):
    """A version of a table."""

    table: str
    """Identifies the table: a table that was dropped and created again is another one."""
    number: int


class CopiedRows(Struct, frozen=True):
    """The rows of a table in this process."""

    version: TableVersion
    rows: Any
    """An Arrow table; None for the version that was known."""


class StoredNote(Struct, frozen=True):
    """What is noted of the last differences that a table has."""

    number: int
    """-1 if there are none."""
    content: bytes | None


class SparkTables(Protocol):
    """The tables of one store on one target. A table is known by its relation, such as `model.totals`."""

    def create(self, table: TableOutput, *, changes: bool) -> bool:
        """Create a table, or add missing columns; return whether it is known to be new.

        With `changes`, the table gets a change feed.
        """

    def merge(self, rows: DataFrame, table: TableOutput, batch: TableBatch) -> None:
        """Store the rows of a batch, one for each key. By `order_by`, no row replaces a newer one.

        Without a key, each row is appended. A row with `_deleted`, at most one for each value of `delete_by`,
        deletes the rows of the table with its value that are not newer.
        """

    def replace_range(self, rows: DataFrame, table: TableOutput, part: TimeRange) -> None:
        """Replace the rows of a range of an append-only table, in one transaction.

        Files without such rows stay as they are, and so do recorded batches.
        """

    def swap(self, new: TableOutput, table: TableOutput, swap: str, *, changes: bool) -> None:
        """Replace the rows of a table by those of a rebuilt one, in one transaction, once for each `swap`.

        `changes` is as for `create`; readers of changes only see the differences.
        """

    def copy(self, table: TableOutput, copy: TableOutput) -> None:
        """Copy a table, if it exists, with its recorded batches."""

    def drop(self, table: TableOutput) -> None:
        """Drop a table, and its recorded batches."""

    def has_rows(self, table: TableOutput) -> bool:
        """Return whether a table exists and is not empty."""

    def exists(self, relation: NodeId) -> bool:
        """Return whether a table that is read exists."""

    def rows(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        """Return the current rows of a table, with those of `columns` that it has; all if there are none.

        Each batch that scans them sees the newest version.
        """

    def copied(self, relation: NodeId, cached_version: TableVersion | None) -> CopiedRows | None:
        """Return the rows of a table of few rows, if they are the same as those that Spark would read.

        Without Spark's jobs; the rows of a `cached_version` are not read again.
        """

    def size(self, session: SparkSession, relation: NodeId) -> int:
        """Return the bytes of a table's newest version."""

    def noted(self, session: SparkSession, table: TableOutput) -> StoredNote:
        """Return the note of a maintained table that was committed with its newest differences."""

    def note(self, session: SparkSession, table: TableOutput, number: int, content: bytes) -> None:
        """Store a note, to be committed by a batch of the writer `MAINTAINED` with this number."""


class VersionedTables(SparkTables, Protocol):
    """The tables of a store that declares versions: tables over tables can read them."""

    def newest(self, session: SparkSession, relation: NodeId) -> TableVersion:
        """Return the newest version of a table."""

    def record_changes(self, session: SparkSession, relation: NodeId) -> None:
        """Let a table record its changes from now on, if it does not yet."""

    def has_version(self, session: SparkSession, relation: NodeId, version: int) -> bool:
        """Return whether a version can still be read, as far as that is known before it is."""

    def rows_at(
        self, session: SparkSession, relation: NodeId, version: int, columns: Iterable[Column] = ()
    ) -> DataFrame:
        """Return the rows of a version, with those of `columns` that it has; all if there are none."""

    def changed_rows(self, session: SparkSession, relation: NodeId, after: int, until: int) -> DataFrame:
        """Return the rows that changed after a version, each as it was and as it is.

        The column `_change_type` is `insert`, `update_preimage`, `update_postimage` or `delete`.
        """


class StreamedTables(VersionedTables, Protocol):
    """The tables of a store that declares a change feed."""

    def changes(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        """Return a stream of the newest version of each changed row; `_deleted` marks deleted rows."""

    def feed(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        """Return a stream of the rows that changed, each as it was and as it is, in no order.

        `KIND` is as in `changed_rows`; `COMMITTED` is the number of the version that changed the row, and
        `COMMITTED_AT` its time. The stream begins with the rows that the table has, as inserts.
        """

    def is_at_first_rows(self, offset: Mapping[str, Any]) -> bool:
        """Return whether an offset of the stream is before the end of the rows with which it began."""


def spark_tables(store: str, target: Target, root: Path, session: SparkSession) -> SparkTables:
    tables: SparkTables = store_module(store, "spark").connect(target, root, session)
    return tables


def versioned_tables(store: str, target: Target, root: Path, session: SparkSession) -> VersionedTables:
    """Return a store's tables, whose versions can be read: `compile` refuses others (MS545)."""
    assert store_declaration(store).versions
    tables: VersionedTables = store_module(store, "spark").connect(target, root, session)
    return tables


def streamed_tables(
    relation: NodeId, store: str, target: Target, root: Path, session: SparkSession
) -> StreamedTables:
    """Return a store's tables, or refuse if the store has no change feed for `relation`."""
    if store_declaration(store).change_feed:
        tables: StreamedTables = store_module(store, "spark").connect(target, root, session)
        return tables
    name = relation.name
    message = f"'{name}' is stored in {store_declaration(store).title}, which has no change feed"
    remedy = f"give '{name}' {choices_with_change_feed()}, or look it up in a join"
    raise MillstreamError(Diagnostic("MS875", message, None, remedy))
