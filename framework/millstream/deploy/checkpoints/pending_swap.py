"""A rebuilt version of a query that waits for its swap, stored next to the query's record."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import CheckpointFolder
from millstream.deploy.planning.records import Offsets, QueryRecord
from millstream.engine.queries.tables import PENDING_SUFFIX
from millstream.queries.values import TableOutput
from millstream.stores.files import Files, read_json, write_json

Bounds = dict[str, dict[str, Offsets]]
"""By topic of a sink: the positions of the first original records, by their topic, whose records to send."""


class PendingSwap(Struct, frozen=True):
    record: QueryRecord
    digest: str
    tables: tuple[TableOutput, ...]
    streamed: tuple[NodeId, ...] = ()
    """The tables whose changes a query reads."""
    swapping: bool = False
    named: str = PENDING_SUFFIX
    """The suffix of its tables until the swap."""
    swap: str = ""
    """Id of this swap, so that a table gets its rows only once; empty: the id of the record."""
    ends: dict[str, Any] | None = None
    """The stored positions where its first batch ends, if that was limited for a comparison."""
    apply: str = ""
    """Id of the apply that retains the replaced version; empty if it is not retained."""
    held: bool = False
    """Its records are stored next to its checkpoint, and sent by the swap: the running version continues."""
    exactly_once: bool = False
    """Its held records are sent in a transaction."""
    upserts: bool = False
    """Only the newest of its held records with the same key is sent."""
    sizes: str = ""
    """What happens to held records that are larger than Kafka accepts, as the option of the sink."""
    bounds: Bounds = {}
    """The running version has sent the records of earlier original records."""

    def new_version(self, table: TableOutput) -> TableOutput:
        """Return the table that holds the new rows until the swap."""
        return rename_output(table, self.named)


def rename_output(table: TableOutput, ending: str) -> TableOutput:
    return replace(table, model=table.model.with_ending(ending))


def read_pending(files: Files, checkpoint: CheckpointFolder) -> PendingSwap | None:
    return read_json(files, checkpoint.rebuild, PendingSwap)


def write_pending(files: Files, checkpoint: CheckpointFolder, pending: PendingSwap) -> None:
    write_json(files, checkpoint.rebuild, pending)
