"""The archive of the broker's classes: made of names by a later command, without delay."""

import os
import signal
from pathlib import Path

import pytest
from support.archives import awaited

from millstream.local.broker import broker_folder_of, keep_broker, shared_broker, stop_broker
from millstream.local.jars import fetch_jars
from millstream.local.server.state import read_pid

pytestmark = pytest.mark.long


@pytest.fixture
def archives(tmp_path, monkeypatch):
    """Return the folder with the archives of a cache that has jars only."""
    files = fetch_jars(["broker"])["broker"]
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "jars").symlink_to(files[0].parent)
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(cache))
    return cache / "archives"


def kinds(archives):
    return sorted(path.suffix for path in archives.iterdir())


def used(root, *, until=None):
    """Use a broker; return the archive that its JVM has mapped."""
    with shared_broker(root) as starting:
        maps = Path(f"/proc/{starting.ready().pid}/maps").read_text()
        if until:
            awaited(until)
    return {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.endswith(".jsa")}


def broker_archives(archives):
    return {str(path) for path in archives.glob("broker-*.jsa")}


def test_the_first_command_writes_names_the_second_an_archive_and_the_third_reads_it(archives, tmp_path):
    assert not used(tmp_path) & broker_archives(archives)
    assert kinds(archives) == [".classes"]
    used(tmp_path, until=lambda: kinds(archives) == [".jsa", ".lock"])
    (archive,) = broker_archives(archives)
    assert archive in used(tmp_path)
    assert kinds(archives) == [".jsa", ".lock"]


def test_one_that_is_damaged_is_replaced(archives, tmp_path):
    used(tmp_path)
    used(tmp_path, until=lambda: broker_archives(archives))
    (damaged,) = map(Path, broker_archives(archives))
    damaged.chmod(0o644)
    with damaged.open("r+b") as file:
        file.write(b"x" * 10_000_000)
    with shared_broker(tmp_path) as starting:
        os.kill(read_pid(broker_folder_of(tmp_path)), signal.SIGKILL)  # as the kernel does for a damaged page
        starting.ready()
    assert not broker_archives(archives)
    used(tmp_path, until=lambda: broker_archives(archives))
    (archive,) = map(Path, broker_archives(archives))
    assert not archive.read_bytes().startswith(b"x")


def test_a_broker_that_ends_before_it_is_ready_leaves_no_names(archives, tmp_path):
    with shared_broker(tmp_path):
        pass
    assert not list(archives.iterdir())


def test_commands_that_join_a_broker_make_its_archive_too(archives, tmp_path):
    used(tmp_path)
    keep_broker(tmp_path)
    try:
        assert kinds(archives)[0] == ".classes"
        used(tmp_path, until=lambda: broker_archives(archives))
    finally:
        stop_broker(tmp_path)
    assert used(tmp_path) & broker_archives(archives)
