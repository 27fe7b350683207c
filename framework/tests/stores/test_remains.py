"""What a killed process leaves of a Delta table that it was creating, or removing, keeps no table from being created."""

import pytest
from pyspark.errors import AnalysisException
from support.spark import SPARK_WARNINGS
from support.stored_tables import Store, minute

from millstream.stores.spark import TableBatch

pytestmark = SPARK_WARNINGS


@pytest.fixture
def unbuilt(spark, tmp_path):
    return Store(spark, tmp_path, {"store": "delta", "path": str(tmp_path / "tables")})


@pytest.fixture
def store(unbuilt):
    store = unbuilt
    store.create(retention=None)
    store.batch(("a", minute(0), 1))
    return store


def folder(tmp_path, table):
    return tmp_path / "tables" / table.model.name


def log_of(tmp_path, table):
    return folder(tmp_path, table) / "_delta_log"


@pytest.mark.parametrize("left", ["an empty log", "a file of the log", "files of rows"])
def test_a_rebuilt_table_begins_anew(store, tmp_path, left):
    rebuilt = store.other(".rebuilt")
    store.tables.copy(store.table, rebuilt)
    for file in log_of(tmp_path, rebuilt).iterdir():
        file.unlink()
    if left == "a file of the log":
        (log_of(tmp_path, rebuilt) / ".00000000000000000000.json.1.tmp").write_text("{}")
    if left == "files of rows":
        log_of(tmp_path, rebuilt).rmdir()
    else:
        for file in folder(tmp_path, rebuilt).glob("*.parquet"):
            file.unlink()
    assert store.tables.create(rebuilt, changes=False)
    store.merge(rebuilt, [("b", minute(0), 2)], TableBatch("r/1", 0, deletes=True, new=True))
    assert [row["user"] for row in store.tables.rows(store.spark, rebuilt).collect()] == ["b"]


def test_a_table_whose_creation_was_killed_is_created(unbuilt, tmp_path):
    log = tmp_path / "tables/latest/_delta_log"
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.1.tmp").write_text("{}")
    unbuilt.create(retention=None)
    unbuilt.batch(("b", minute(0), 2))
    assert unbuilt.users() == ["b"]


def test_files_of_others_stay(unbuilt, tmp_path):
    (tmp_path / "tables/latest").mkdir(parents=True)
    (tmp_path / "tables/latest/notes.txt").write_text("mine")
    with pytest.raises(AnalysisException, match="DELTA_TABLE_NOT_FOUND"):
        unbuilt.create(retention=None)
    assert (tmp_path / "tables/latest/notes.txt").read_text() == "mine"
