"""What a query has read, from a checkpoint on this machine: without Spark, and also while the query runs."""

from __future__ import annotations

from millstream.deploy.checkpoints.files import checkpoint_folder, read_record, read_so_far
from millstream.project.folders import local_path
from millstream.sources.positions import Positions
from millstream.stores.files import LocalFiles


def local_positions(checkpoints: str, query: str) -> Positions | None:
    """Return up to where a query has read its streams; None if checkpoints are elsewhere."""
    if local_path(checkpoints) is None:
        return None
    files, folder = LocalFiles(), checkpoint_folder(checkpoints, query)
    record = read_record(files, folder)
    return {} if record is None else read_so_far(files, folder.spark(record), record.signature.topics)
