"""How large the state of a query was after its last batch, in a file next to its checkpoint.

Spark reports it with each batch, but does not store it.
"""

from __future__ import annotations

from datetime import datetime, timezone

from msgspec import Struct

from millstream.runner.checkpoints.files import CheckpointFolder
from millstream.runner.queries.batches import Batch, OperatorState
from millstream.stores.files import Files, read_json, write_json


class StateFigures(Struct, frozen=True):
    id: str
    """Id of the checkpoint."""
    batch: int
    time: str
    watermark: str
    operators: tuple[OperatorState, ...]


def write_figures(files: Files, place: CheckpointFolder, id_: str, batch: Batch) -> None:
    if batch.operators:
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        write_json(
            files, _path(place), StateFigures(id_, batch.number, now, batch.watermark, batch.operators)
        )


def read_figures(files: Files, place: CheckpointFolder, id_: str) -> StateFigures | None:
    """Return the figures, unless they are of another checkpoint."""
    found = read_json(files, _path(place), StateFigures)
    return found if found is not None and found.id == id_ else None


def _path(place: CheckpointFolder) -> str:
    return f"{place.folder}/state.json"
