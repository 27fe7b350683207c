"""Whose process it is: nothing else is ever ended."""

import base64
import subprocess
import sys

import pytest

from millstream.core.errors import MillstreamError
from millstream.local.broker import broker_folder_of, broker_status, shared_broker, stop_broker
from millstream.local.broker.kafka import new_cluster
from millstream.local.locks import acquire_lock, is_locked, open_lock


@pytest.fixture
def stranger():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture
def folder(tmp_path):
    folder = broker_folder_of(tmp_path)
    folder.path.mkdir(parents=True)
    return folder


def test_a_stale_id_is_no_broker(folder, tmp_path, stranger):
    folder.pid.write_text(str(stranger.pid))
    folder.state.write_text('{"port": 9092, "identity": "x"}')
    assert broker_status(tmp_path).state == "stopped"
    assert stop_broker(tmp_path) == "not running"
    assert stranger.poll() is None


def test_a_lock_ends_with_its_process_only(folder):
    with open_lock(folder.process_lock) as held:
        acquire_lock(held, 0)
        with subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(held,)
        ) as child:
            pass_on = child
            assert is_locked(folder.process_lock)
            child.stdin.close()
    assert pass_on.returncode == 1
    assert not is_locked(folder.process_lock)


def test_who_asks_disturbs_nobody_who_asks(folder):
    with open_lock(folder.process_lock) as held:
        acquire_lock(held, 0, shared=True)
        assert not is_locked(folder.process_lock)


@pytest.mark.parametrize("content", ["", "{", '{"port": "no"}'])
def test_a_broken_state_is_none(folder, tmp_path, content):
    folder.state.write_text(content)
    assert broker_status(tmp_path).state == "stopped"


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / ".millstream").write_text("")
    with pytest.raises(MillstreamError, match=r"MS814"), shared_broker(tmp_path):
        pass


def test_no_java(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MillstreamError, match=r"MS801"), shared_broker(tmp_path):
        pass
    assert broker_status(tmp_path).state == "stopped"


def test_the_id_of_a_cluster_never_looks_like_an_option():
    ids = {new_cluster() for _ in range(500)}
    assert len(ids) == 500
    assert not any(id_.startswith("-") for id_ in ids)
    assert {len(base64.urlsafe_b64decode(f"{id_}==")) for id_ in ids} == {16}
