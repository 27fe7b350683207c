"""Iceberg tables with Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.deletions import note_deletion
from millstream.stores.file_sizes import combines_after
from millstream.stores.iceberg.namespace import iceberg_location
from millstream.stores.iceberg.spark import commits, files, merge, old_files, swap, table, versions
from millstream.stores.iceberg.spark.address import Address, Addresses
from millstream.stores.note_files import read_note_file, write_note_file
from millstream.stores.spark import (
    MAINTAINED,
    CopiedRows,
    StoredNote,
    TableBatch,
    TableVersion,
    VersionedTables,
)


class IcebergTables(Struct, frozen=True):
    addresses: Addresses
    spark: SparkSession
    old_snapshots: str | None = None
    """For how long old snapshots are kept; None for the default."""

    def create(self, output: TableOutput, *, changes: bool) -> bool:  # noqa: ARG002 -- there is no change feed
        address = self.addresses.written(output.model)
        new = table.create_table(self.spark, output, address)
        if old_files.must_go(self.spark, output, address, self.old_snapshots):
            self._remove_old_snapshots(self.spark, output, address)
        return new

    def merge(self, rows: DataFrame, output: TableOutput, batch: TableBatch) -> None:
        session, address = rows.sparkSession, self.addresses.written(output.model)
        merge.store_batch(rows, output, _opened(address), batch)
        if output.deletes_on_request and batch.deletes:
            note_deletion(session, address.folder())
        combines = combines_after(batch.number)
        if combines:
            old_files.compact_table(session, output, _opened(address), batch)
        if combines or old_files.must_go(session, output, address, self.old_snapshots):
            self._remove_old_snapshots(session, output, address)

    def replace_range(self, rows: DataFrame, output: TableOutput, part: TimeRange) -> None:
        merge.replace_rows(rows, output, _opened(self.addresses.written(output.model)), part)

    def _remove_old_snapshots(self, session: SparkSession, output: TableOutput, address: Address) -> None:
        old_files.remove_old_snapshots(session, output, _opened(address), address, self.old_snapshots)

    def swap(self, new: TableOutput, output: TableOutput, id_: str, *, changes: bool) -> None:  # noqa: ARG002
        addresses = self.addresses.written(new.model), self.addresses.written(output.model)
        swap.swap_tables(self.spark, output, *addresses, swap=id_)

    def copy(self, output: TableOutput, to: TableOutput) -> None:
        address, copy = self.addresses.written(output.model), self.addresses.written(to.model)
        swap.copy_table(self.spark, output, address, copy)

    def drop(self, output: TableOutput) -> None:
        self.addresses.written(output.model).drop()

    def has_rows(self, output: TableOutput) -> bool:
        opened = self.addresses.written(output.model).load()
        return opened is not None and _summed(opened, "total-records") > 0

    def exists(self, relation: NodeId) -> bool:
        return self.addresses.read(relation).load() is not None

    def rows(self, session: SparkSession, relation: NodeId, columns: Iterable[Column]) -> DataFrame:
        """Return the rows of the version that is the newest now (see `StoreDeclaration.lookups`)."""
        return files.read_rows(session, _opened(self.addresses.read(relation)), columns)

    def copied(self, _relation: NodeId, _cached_version: TableVersion | None) -> CopiedRows | None:
        return None

    def size(self, session: SparkSession, relation: NodeId) -> int:  # noqa: ARG002
        return _summed(_opened(self.addresses.read(relation)), "total-files-size")

    def newest(self, session: SparkSession, relation: NodeId) -> TableVersion:  # noqa: ARG002
        return versions.newest_version(_opened(self.addresses.read(relation)))

    def record_changes(self, session: SparkSession, relation: NodeId) -> None:
        """Do nothing: what changed is the difference between two lists of files."""

    def has_version(self, session: SparkSession, relation: NodeId, version: int) -> bool:  # noqa: ARG002
        return versions.has_version(_opened(self.addresses.read(relation)), version)

    def rows_at(
        self, session: SparkSession, relation: NodeId, version: int, columns: Iterable[Column] = ()
    ) -> DataFrame:
        return versions.rows_at(session, _opened(self.addresses.read(relation)), version, columns)

    def changed_rows(self, session: SparkSession, relation: NodeId, after: int, until: int) -> DataFrame:
        return versions.changed_rows(session, _opened(self.addresses.read(relation)), after, until)

    def noted(self, session: SparkSession, output: TableOutput) -> StoredNote:
        address = self.addresses.written(output.model)
        number = commits.last_batch(_opened(address), MAINTAINED)
        return StoredNote(number, None if number < 0 else read_note_file(session, address.folder(), number))

    def note(self, session: SparkSession, output: TableOutput, number: int, content: bytes) -> None:
        write_note_file(session, self.addresses.written(output.model).folder(), number, content)


def _opened(address: Address) -> Any:
    opened = address.load()
    if opened is None:
        raise FileNotFoundError(address.shown)
    return opened


def _summed(opened: Any, name: str) -> int:
    """Return a total of the newest snapshot's summary."""
    snapshot = opened.currentSnapshot()
    return 0 if snapshot is None else int(snapshot.summary().get(name) or 0)


def connect(target: Target, root: Path, session: SparkSession) -> VersionedTables:
    settings = target.settings.get("tables") or {}
    addresses = Addresses(session, iceberg_location(target, root))
    return IcebergTables(addresses, session, settings.get("old_snapshots"))
