"""Notes how large the state of a query was after its last batch, in a file next to its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import zip_longest

from millstream.deployment.records import Record
from millstream.physical.values import content_id
from millstream.runner.checkpoints.files import CheckpointFolder
from millstream.runner.queries.batch import Batch
from millstream.state_figures import FILE, Restored, StateFigures
from millstream.stores.files import Files, read_json, write_json


def write_figures(
    files: Files, place: CheckpointFolder, record: Record, batch: Batch, restored: Sequence[Restored | None]
) -> None:
    """Write the figures of a batch; `restored` is how operators were loaded since the start of the query."""
    if batch.operators:
        before = read_figures(files, place, record.id)
        earlier = before.restored if before else ()
        loaded = tuple(now or then for now, then in zip_longest(restored, earlier))
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        # States of models that left are after the others, or between them: then it is unknown which is which.
        contents = tuple(map(content_id, record.signature.operators))
        known = contents if len(contents) == len(batch.operators) else ()
        found = StateFigures(record.id, batch.number, now, batch.watermark, batch.operators, known, loaded)
        write_json(files, _path(place), found)


def read_figures(files: Files, place: CheckpointFolder, id_: str) -> StateFigures | None:
    """Return the figures, unless they are of another checkpoint."""
    found = read_json(files, _path(place), StateFigures)
    return found if found is not None and found.id == id_ else None


def _path(place: CheckpointFolder) -> str:
    return f"{place.folder}/{FILE}"
