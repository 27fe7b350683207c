"""The version of a query that a swap replaced, retained for a rollback."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import CheckpointFolder
from millstream.deploy.checkpoints.pending_swap import PendingSwap, rename_output
from millstream.deploy.planning.records import QueryRecord
from millstream.engine.queries.tables import RETAINED_SUFFIX, Tables
from millstream.queries.values import TableOutput
from millstream.stores.files import Files, read_json, write_json


class RetainedVersion(Struct, frozen=True):
    record: QueryRecord | None
    """None if the query did not run, and another query wrote its tables."""
    by: str
    """Id of the record that replaced it."""
    apply: str
    """Id of the apply that replaced it."""
    streamed: tuple[NodeId, ...] = ()
    others: tuple[TableOutput, ...] = ()
    """Tables that another query wrote."""

    @property
    def tables(self) -> tuple[TableOutput, ...]:
        if self.record is None:
            return self.others
        keys = {stored.model: stored.keys for stored in self.record.signature.stored}
        layouts = self.record.layouts
        return tuple(
            TableOutput(model, keys.get(model, ()), columns, layouts.get(model, {}))
            for model, columns in self.record.tables.items()
        )


def read_retained(files: Files, checkpoint: CheckpointFolder) -> RetainedVersion | None:
    return read_json(files, checkpoint.retained, RetainedVersion)


def write_retained(files: Files, checkpoint: CheckpointFolder, retained: RetainedVersion) -> None:
    write_json(files, checkpoint.retained, retained)


def retain_version(
    files: Files, tables: Tables, checkpoint: CheckpointFolder, before: QueryRecord | None, swap: PendingSwap
) -> None:
    """Retain the version that a swap replaces; only once, since afterwards the tables hold the new rows."""
    earlier = read_retained(files, checkpoint)
    if earlier is not None and earlier.by == swap.record.id:
        return
    forget_retained(files, tables, checkpoint)
    others = () if before else swap.tables
    retained = RetainedVersion(before, swap.record.id, swap.apply, swap.streamed, others)
    for table in retained.tables:
        tables.copy(table, rename_output(table, RETAINED_SUFFIX))
    write_json(files, checkpoint.retained, retained)


def forget_retained(files: Files, tables: Tables, checkpoint: CheckpointFolder) -> None:
    """Remove the retained version; it can't be rolled back to any more."""
    retained = read_retained(files, checkpoint)
    if retained is None:
        return
    for table in retained.tables:
        tables.drop(rename_output(table, RETAINED_SUFFIX))
    if retained.record is not None:
        files.remove(checkpoint.spark(retained.record))
    files.remove(checkpoint.retained)


def restore_tables(
    files: Files, tables: Tables, checkpoint: CheckpointFolder, retained: RetainedVersion
) -> None:
    """Restore the rows that another query wrote, and remove the query that had taken over its tables."""
    for table in retained.tables:
        tables.copy(rename_output(table, RETAINED_SUFFIX), table)
    files.remove(checkpoint.record)
    for table in retained.tables:
        tables.drop(rename_output(table, RETAINED_SUFFIX))
    files.remove(checkpoint.folder)


def as_pending_swap(retained: RetainedVersion, record: QueryRecord) -> PendingSwap:
    """Return the previous version as a pending swap that puts it back."""
    return PendingSwap(
        # The version that is rolled back has sent rows that this one may not have.
        replace(record, tombstones="all"),
        digest="",
        tables=retained.tables,
        streamed=retained.streamed,
        swapping=True,
        named=RETAINED_SUFFIX,
        swap=f"{record.id}/{retained.apply}",
    )
