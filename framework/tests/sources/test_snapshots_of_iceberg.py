"""Which files a source reads of an Iceberg table's history, which pyiceberg writes."""

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from millstream.sources.iceberg.snapshots import (
    TableAddress,
    TableProblemError,
    added_files,
    before,
    everything,
    load_table,
    newest,
)

NUMBERS = pa.schema([("id", pa.int64())])


class Numbers:
    """A table with a snapshot for each row."""

    def __init__(self, folder):
        properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
        self.address = TableAddress("lake.numbers", "", "lake", properties, "shop.numbers")
        self.catalog = SqlCatalog("lake", **properties)
        self.catalog.create_namespace("shop")
        self.catalog.create_table("shop.numbers", NUMBERS)

    def append(self, *ids):
        for id_ in ids:
            self.writer.append(pa.table({"id": [id_]}))

    @property
    def writer(self):
        return self.catalog.load_table("shop.numbers")

    @property
    def read(self):
        return load_table(self.address)

    def expire(self, *snapshots):
        with self.writer.maintenance.expire_snapshots() as expiring:
            for snapshot in snapshots:
                expiring.by_id(snapshot.snapshot_id)

    def since(self, position):
        return len(added_files(self.read, position, newest(self.read), skip_changes=False))


@pytest.fixture
def numbers(tmp_path):
    return Numbers(tmp_path)


def test_positions_of_a_start(numbers):
    assert numbers.since(everything(numbers.read)) == 0
    numbers.append(1, 2, 3)
    first, second, _ = numbers.read.snapshots()
    assert numbers.since(everything(numbers.read)) == 3
    assert numbers.since(before(numbers.read, first.snapshot_id, None)) == 3
    assert numbers.since(before(numbers.read, second.snapshot_id, None)) == 2
    assert numbers.since(before(numbers.read, None, second.timestamp_ms)) == 2
    assert numbers.since(newest(numbers.read)) == 0


def test_a_start_whose_snapshots_have_expired_misses_none(numbers):
    numbers.append(1, 2, 3)
    first, second, _ = numbers.read.snapshots()
    of_first, of_second = (before(numbers.read, snapshot.snapshot_id, None) for snapshot in (first, second))
    numbers.expire(first)
    with pytest.raises(TableProblemError, match="no longer has all snapshots from its start on"):
        numbers.since(of_first)
    # pyiceberg leaves no trace of what was before: this could be a table that was replaced.
    with pytest.raises(TableProblemError, match=f"no longer has all snapshots since {first.snapshot_id}"):
        numbers.since(of_second)
    # A time means the snapshots that the table still has.
    assert numbers.since(before(numbers.read, None, first.timestamp_ms)) == 2


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
def test_an_overwrite_of_nothing_is_an_append(numbers):
    numbers.append(1)
    start = newest(numbers.read)
    numbers.writer.overwrite(pa.table({"id": [7]}), overwrite_filter="id = 7")
    assert numbers.since(start) == 1
    numbers.writer.overwrite(pa.table({"id": [8]}), overwrite_filter="id = 7")
    with pytest.raises(TableProblemError, match="deletes or changes rows"):
        numbers.since(start)
    assert len(added_files(numbers.read, start, newest(numbers.read), skip_changes=True)) == 2
