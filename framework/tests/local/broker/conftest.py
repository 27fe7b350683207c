"""A project's folder whose broker surely ends with the tests."""

import sys

import pytest

from millstream.local.broker import stop_broker

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Return a folder whose name shells and Kafka's settings would take for something else."""
    folder = tmp_path_factory.mktemp("broker") / "it's a, $HOME prójekt"
    folder.mkdir()
    yield folder
    stop_broker(folder, force=True)
