"""Deleted rows leave the disk: files of older versions that have them are removed in time."""

import pyarrow.parquet as pq
import pytest
from support.stored_tables import Store, minute

SETTINGS = {
    "delta": {"path": "lake", "old_files": "1 hour"},
    "iceberg": {"iceberg_path": "lake", "old_snapshots": "1 hour"},
}


def opened(spark, root, name, old_files):
    settings = {key: old_files if key.startswith("old_") else value for key, value in SETTINGS[name].items()}
    store = Store(spark, root, {"store": name, **settings})
    store.create(retention=None, keys=(), delete_by=("user",))
    return store


def users_on_disk(root):
    """Return the users of all files, whether a version needs them or not."""
    files = [file for file in (root / "lake/latest").rglob("*.parquet") if "_delta_log" not in str(file)]
    return {user for file in files for user in pq.read_table(file, columns=["user"])["user"].to_pylist()}


@pytest.mark.parametrize("name", SETTINGS)
def test_files_go_after_their_time_with_the_next_batch_or_start(spark, tmp_path, name):
    store = opened(spark, tmp_path, name, "1 hour")
    store.batch(("a", minute(1), 1), ("b", minute(1), 2))
    store.batch(("a", minute(5), None, True))
    store.batch(("b", minute(2), 3))
    assert store.users() == ["b", "b"]
    assert users_on_disk(tmp_path) == {"a", "b"}
    later = opened(spark, tmp_path, name, "0 hours")
    assert users_on_disk(tmp_path) == {"b"}
    assert not list((tmp_path / "lake/latest").glob("*deletions*"))
    later.number = store.number
    later.batch(("b", minute(5), None, True), ("c", minute(5), 4))
    assert users_on_disk(tmp_path) == {"c"}
    assert later.users() == ["c"]
