"""A split that is killed at any step is completed by the next command."""

import json

import pytest

from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.deployed import deployed_at
from millstream.deploy.checkpoints.files import checkpoint_folder, write_lock, write_record
from millstream.deploy.checkpoints.splitting import apply_splits, settle_splits
from millstream.deploy.planning.query_splits import QuerySplit
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.queries.lock import GroupMember, Lock, LockedGroup
from millstream.queries.values import QuerySignature
from millstream.stores.files import LocalFiles

SIGNATURE = QuerySignature((NodeId("source", "web.events"),), ())
STATE = b"\x00 of all models"


class _KilledError(Exception):
    pass


class DyingFiles(LocalFiles, frozen=False):
    """Dies before one of its changes."""

    left: int

    def _change(self):
        if self.left == 0:
            raise _KilledError
        self.left -= 1

    def write(self, path, content):
        self._change()
        super().write(path, content)

    def remove(self, path):
        self._change()
        super().remove(path)

    def copy(self, folder, to):
        self._change()
        super().copy(folder, to)


def record(query, *models, id_="one"):
    return QueryRecord("shop", query, id_, SIGNATURE, outputs=dict.fromkeys(map(NodeId.parse, models), ""))


def lock(**groups):
    return Lock(
        tuple(
            LockedGroup(name, (GroupMember(tuple(map(NodeId.parse, models))),))
            for name, models in groups.items()
        )
    )


BEFORE = Deployed({"both": record("both", "model.a", "model.b")}, lock(both=("model.a", "model.b")))
AFTER = Deployed(
    {"a": record("a", "model.a", id_="two"), "both": record("both", "model.b")},
    lock(both=("former.both:a", "model.b"), a=("model.a", "former.a:b")),
)
SPLITS = [QuerySplit("both", "a", (NodeId("model", "a"),))]


@pytest.fixture
def checkpoints(tmp_path):
    files, checkpoint = LocalFiles(), checkpoint_folder(str(tmp_path), "both")
    for path, content in {
        "metadata": b'{"id": "x"}',
        "offsets/0": b"v1\n{}\n-",
        "commits/0": b"v1",
        "state/0/0/1.delta": STATE,
    }.items():
        files.write(f"{checkpoint.spark(BEFORE.records['both'])}/{path}", content)
    write_record(files, checkpoint, BEFORE.records["both"])
    write_lock(files, str(tmp_path), BEFORE.lock)
    return tmp_path


@pytest.mark.parametrize("changes", range(8))
def test_a_split_that_is_killed(checkpoints, changes):
    folder = str(checkpoints)
    with pytest.raises(_KilledError):
        apply_splits(DyingFiles(changes), folder, BEFORE, AFTER, SPLITS)
    settle_splits(LocalFiles(), folder)
    if changes == 0:
        assert deployed_at(LocalFiles(), folder) == BEFORE
        return
    assert deployed_at(LocalFiles(), folder) == AFTER
    ids = {json.loads((checkpoints / query / "spark/metadata").read_text())["id"] for query in AFTER.records}
    assert len(ids) == 2
    for query in AFTER.records:
        assert (checkpoints / query / "spark/state/0/0/1.delta").read_bytes() == STATE
    assert sorted(path.name for path in checkpoints.iterdir()) == ["a", "both", "groups.lock"]


def test_eight_changes_are_all(checkpoints):
    apply_splits(DyingFiles(8), str(checkpoints), BEFORE, AFTER, SPLITS)
    assert deployed_at(LocalFiles(), str(checkpoints)) == AFTER
