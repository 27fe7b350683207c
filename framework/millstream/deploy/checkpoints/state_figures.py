"""Notes how large the state of a query was after its last batch, in a file next to its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import zip_longest

from millstream.deploy.checkpoints.files import CheckpointFolder
from millstream.deploy.planning.records import QueryRecord
from millstream.engine.queries.batch_result import BatchResult
from millstream.queries.values import content_id
from millstream.results.state_sizes import FILE, RestoredState, StateFigures
from millstream.stores.files import Files, read_json, write_json


def write_figures(
    files: Files,
    checkpoint: CheckpointFolder,
    record: QueryRecord,
    batch: BatchResult,
    restored: Sequence[RestoredState | None],
) -> None:
    """Write the figures of a batch; `restored` is how operators were loaded since the start of the query."""
    if batch.operators:
        before = read_figures(files, checkpoint, record.id)
        earlier = before.restored if before else ()
        loaded = tuple(now or then for now, then in zip_longest(restored, earlier))
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        contents = tuple(map(content_id, record.signature.numbered))
        ids = contents if len(contents) == len(batch.operators) else ()
        figures = StateFigures(record.id, batch.number, now, batch.watermark, batch.operators, ids, loaded)
        write_json(files, _path(checkpoint), figures)


def read_figures(files: Files, checkpoint: CheckpointFolder, id_: str) -> StateFigures | None:
    """Return the figures, unless they are of another checkpoint."""
    figures = read_json(files, _path(checkpoint), StateFigures)
    return figures if figures is not None and figures.id == id_ else None


def _path(checkpoint: CheckpointFolder) -> str:
    return f"{checkpoint.folder}/{FILE}"
