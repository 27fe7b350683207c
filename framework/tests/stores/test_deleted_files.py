"""Deleted rows leave the disk: files of older versions that have them are removed in time."""

from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
from support.stored_tables import Store, minute

SETTINGS = {
    "delta": {"path": "lake", "old_files": "1 hour"},
    "iceberg": {"iceberg_path": "lake", "old_snapshots": "1 hour"},
}


def opened(spark, root, settings, old_files):
    settings = {key: old_files if key.startswith("old_") else value for key, value in settings.items()}
    store = Store(spark, root, settings)
    store.create(retention=None, keys=(), delete_by=("user",))
    return store


def users_on_disk(folder):
    """Return the users of all files, whether a version needs them or not."""
    files = [file for file in folder.rglob("*.parquet") if "_delta_log" not in str(file)]
    return {user for file in files for user in pq.read_table(file, columns=["user"])["user"].to_pylist()}


@pytest.fixture(params=[*SETTINGS, pytest.param("catalog", marks=pytest.mark.long)])
def kind(request, tmp_path):
    """Return the settings of a store, and the folder of its table."""
    if request.param != "catalog":
        return {"store": request.param, **SETTINGS[request.param]}, lambda: tmp_path / "lake/latest"
    settings = request.getfixturevalue("catalog_settings")
    client, name = request.getfixturevalue("catalog").client, (settings["iceberg_namespace"], "latest")
    settings |= {"old_snapshots": "1 hour"}
    return settings, lambda: Path(urlsplit(client.load_table(name).location()).path)


def test_files_go_after_their_time_with_the_next_batch_or_start(spark, tmp_path, kind):
    settings, folder = kind
    store = opened(spark, tmp_path, settings, "1 hour")
    store.batch(("a", minute(1), 1), ("b", minute(1), 2))
    store.batch(("a", minute(5), None, True))
    store.batch(("b", minute(2), 3))
    assert store.users() == ["b", "b"]
    assert users_on_disk(folder()) == {"a", "b"}
    later = opened(spark, tmp_path, settings, "0 hours")
    assert users_on_disk(folder()) == {"b"}
    assert not list(folder().glob("*deletions*"))
    later.number = store.number
    later.batch(("b", minute(5), None, True), ("c", minute(5), 4))
    assert users_on_disk(folder()) == {"c"}
    assert later.users() == ["c"]
