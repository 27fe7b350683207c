"""The port of stores with Spark, for all databases."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.queries.values import TableOutput
from millstream.stores.databases import notes, swap, table
from millstream.stores.databases.schema import DatabaseSchema
from millstream.stores.databases.spark import merge
from millstream.stores.databases.spark.transfer import RowTransfer
from millstream.stores.spark import MAINTAINED, CopiedRows, StoredNote, TableBatch, TableVersion


class DatabaseTables(Struct, frozen=True):
    schema: DatabaseSchema
    transfer: RowTransfer

    def create(self, output: TableOutput, *, changes: bool) -> bool:  # noqa: ARG002 -- there is no change feed
        table.create_table(self.schema, output)
        return False

    def merge(self, rows: DataFrame, output: TableOutput, batch: TableBatch) -> None:
        merge.merge_batch(rows, output, self.schema, self.transfer, batch)

    def replace_range(self, rows: DataFrame, output: TableOutput, part: TimeRange) -> None:
        merge.replace_rows(rows, output, self.schema, self.transfer, part)

    def swap(self, new: TableOutput, output: TableOutput, _id: str, *, changes: bool) -> None:  # noqa: ARG002
        swap.swap_tables(self.schema, new, output)

    def copy(self, output: TableOutput, to: TableOutput) -> None:
        swap.copy_table(self.schema, output, to)

    def drop(self, output: TableOutput) -> None:
        table.drop_table(self.schema, output)

    def has_rows(self, output: TableOutput) -> bool:
        return table.has_rows(self.schema, output)

    def exists(self, relation: NodeId) -> bool:
        return table.table_exists(self.schema.of(relation), TableOutput(relation))

    def rows(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        return self.transfer.read(session, self.schema.of(relation), relation, tuple(columns))

    def copied(self, _relation: NodeId, _cached_version: TableVersion | None) -> CopiedRows | None:
        return None

    def size(self, _session: SparkSession, relation: NodeId) -> int:
        return table.table_size(self.schema, TableOutput(relation))

    def noted(self, _session: SparkSession, output: TableOutput) -> StoredNote:
        return StoredNote(*notes.read_note(self.schema, output, MAINTAINED))

    def note(self, _session: SparkSession, output: TableOutput, number: int, content: bytes) -> None:
        notes.write_note(self.schema, output, number, content)
