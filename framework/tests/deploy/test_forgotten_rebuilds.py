"""A rebuild that is removed, and the removal killed at any step, is never taken up again."""

import pytest

from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import CheckpointFolder
from millstream.deploy.checkpoints.pending_swap import PendingSwap, read_pending, write_pending
from millstream.deploy.checkpoints.swap import forget_rebuild
from millstream.deploy.planning.records import QueryRecord
from millstream.queries.values import QuerySignature, TableOutput
from millstream.stores.files import LocalFiles

DIGEST = "of the edit"


class KilledError(BaseException):
    pass


class KilledFiles(LocalFiles, frozen=False):
    """Files on this machine, until so many were removed."""

    steps: int

    def remove(self, path):
        self.step()
        super().remove(path)

    def step(self):
        if not self.steps:
            raise KilledError
        self.steps -= 1


class KilledTables:
    def __init__(self, files):
        self.files = files

    def drop(self, _table):
        self.files.step()


@pytest.mark.parametrize("steps", range(4))
def test_what_is_half_removed_is_not_continued(tmp_path, steps):
    checkpoint = CheckpointFolder(str(tmp_path))
    record = QueryRecord("shop", "totals", "1", QuerySignature((), ()), folder="spark-1")
    pending = PendingSwap(record, DIGEST, (TableOutput(NodeId("model", "totals")),))
    write_pending(LocalFiles(), checkpoint, pending)
    (tmp_path / "spark-1").mkdir()
    (tmp_path / "spark-1/metadata").write_text("{}")
    files = KilledFiles(steps)
    try:
        forget_rebuild(files, KilledTables(files), checkpoint)
    except KilledError:
        left = read_pending(LocalFiles(), checkpoint)
        assert left is not None
        assert left.digest != DIGEST
        endless = KilledFiles(10)
        forget_rebuild(endless, KilledTables(endless), checkpoint)
    else:
        assert steps == 3
    assert read_pending(LocalFiles(), checkpoint) is None
    assert not (tmp_path / "spark-1").exists()
