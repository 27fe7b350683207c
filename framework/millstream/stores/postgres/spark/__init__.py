"""Tables in PostgreSQL with Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.postgres import notes, swap, table
from millstream.stores.postgres.schema import PostgresSchema, postgres_schema
from millstream.stores.postgres.spark import merge, rows
from millstream.stores.spark import MAINTAINED, CopiedRows, SparkTables, StoredNote, TableBatch, TableVersion


class PostgresTables(Struct, frozen=True):
    schema: PostgresSchema

    def create(self, output: TableOutput, *, changes: bool) -> bool:  # noqa: ARG002 -- there is no change feed
        table.create_table(self.schema, output)
        return False

    def merge(self, rows: DataFrame, output: TableOutput, batch: TableBatch) -> None:
        merge.merge_batch(rows, output, self.schema, batch)

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
        return rows.read_rows(session, self.schema.of(relation), relation, columns)

    def copied(self, _relation: NodeId, _cached_version: TableVersion | None) -> CopiedRows | None:
        return None

    def size(self, _session: SparkSession, relation: NodeId) -> int:
        return notes.table_size(self.schema, TableOutput(relation))

    def noted(self, _session: SparkSession, output: TableOutput) -> StoredNote:
        return StoredNote(*notes.read_note(self.schema, output, MAINTAINED))

    def note(self, _session: SparkSession, output: TableOutput, number: int, content: bytes) -> None:
        notes.write_note(self.schema, output, number, content)


def connect(target: Target, _root: Path, _session: SparkSession) -> SparkTables:
    return PostgresTables(postgres_schema(target))
