"""A local broker or registry that does not start, does not respond or is busy: what the remedy says works."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import run as run  # noqa: PLC0414 - a fixture
from support.registry import needs_java

from millstream.core.errors import MillstreamError
from millstream.kafka.registry.local import keep_registry, registry_status, shared_registry, stop_registry
from millstream.local import java
from millstream.local.broker import broker_folder_of, broker_status, keep_broker, stop_broker
from millstream.local.locks import acquire_lock, open_lock

UNWRITABLE = "/sys/kernel"
"""A folder in which nobody can make another one."""


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return the folder of a project, whose servers surely end with the test."""
    (tmp_path / "pyproject.toml").write_text('[tool.millstream]\nname = "shop"\n')
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    monkeypatch.undo()
    stop_registry(tmp_path, force=True)
    stop_broker(tmp_path, force=True)


def refused(run, *command):
    """Return the code and the remedy of a command that is refused."""
    (diagnostic,) = run(*command, "--output", "json").json["diagnostics"]
    return diagnostic["code"], diagnostic["help"]


def state(run):
    return run("broker", "status", "--output", "json").json["broker"]["state"]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder of Linux that nobody can write")
def test_a_broker_whose_folder_can_not_be_written_and_one_that_ends_at_its_start(root, run):
    (root / ".millstream").symlink_to(UNWRITABLE)
    assert refused(run, "broker", "start") == ("MS814", "make the folder writable, or free disk space")
    (root / ".millstream").unlink()
    # Kafka's data of another node.
    (root / ".millstream/broker/data").mkdir(parents=True)
    meta = root / ".millstream/broker/data/meta.properties"
    meta.write_text("version=1\ncluster.id=abc\nnode.id=7\n")
    code, remedy = refused(run, "broker", "start")
    log = Path(re.match("see (.+?); ", remedy)[1])
    assert (code, "node id 7" in log.read_text()) == ("MS811", True)
    command = re.search("`millstream (.+?)` removes all of it", remedy)[1]
    assert run(command, "--yes").code == 0
    assert not (root / ".millstream").exists()
    assert run("broker", "start").code == 0
    assert state(run) == "running"


@pytest.mark.long
def test_a_broker_that_does_not_respond_and_one_that_is_busy(root, run, monkeypatch):
    monkeypatch.setattr("millstream.local.server.shared._START", 0.5)
    monkeypatch.setattr("millstream.local.server.shared._LOCK", 0.2)
    monkeypatch.setattr("millstream.local.server.process._PATIENCE", 0.5)
    with monkeypatch.context() as patience:
        patience.setattr("millstream.local.server.shared._START", 60.0)
        keep_broker(root)
    with open_lock(broker_folder_of(root).start_lock) as held:
        acquire_lock(held, 0)
        assert refused(run, "broker", "stop") == ("MS815", "wait for that command to end, or stop it")
    os.kill(broker_status(root).pid, signal.SIGSTOP)
    code, remedy = refused(run, "broker", "start")
    log, command = re.fullmatch("see (.+); `millstream (.+)` stops it", remedy).groups()
    assert (code, "Kafka Server started" in Path(log).read_text()) == ("MS812", True)
    assert run(*command.split()).out == "the broker is stopped\n"
    monkeypatch.undo()
    monkeypatch.chdir(root)
    assert run("broker", "start").code == 0
    assert state(run) == "running"


def test_a_process_that_is_not_the_broker_and_has_its_lock(root, run, monkeypatch):
    monkeypatch.setattr("millstream.local.server.process._PATIENCE", 0.05)
    folder = broker_folder_of(root)
    folder.path.mkdir(parents=True)
    with open_lock(folder.process_lock) as lock:
        acquire_lock(lock, 0)
        stranger = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock,)
        )
    folder.pid.write_text(str(stranger.pid))
    try:
        code, remedy = refused(run, "broker", "stop")
        assert (code, remedy) == ("MS815", "end that process, or the container that it runs in")
        assert stranger.poll() is None
    finally:
        stranger.communicate()
    assert run("broker", "stop").out == "the broker is not running\n"


@pytest.mark.long
@needs_java
def test_a_registry_without_its_java_and_one_that_ends_at_its_start_or_does_not_respond(
    root, run, monkeypatch
):
    old = java.JavaInstallation(java.find_java().program, "17.0.15", 17)
    with monkeypatch.context() as only_older:
        only_older.setattr("millstream.local.java._HOMES", ())
        only_older.setattr("millstream.local.java.find_java", lambda: old)
        only_older.setattr("millstream.kafka.registry.local.apicurio.find_java", lambda: old)
        (diagnostic,) = refused_registry(root)
    assert diagnostic.code == "MS816"
    assert diagnostic.help.startswith("install Java 21 or newer next to it")
    with shared_registry(root, {}):
        assert registry_status(root).state == "running"
    # What H2 did not write.
    (root / ".millstream/broker/registry/data/registry.mv.db").write_bytes(b"damaged")
    (diagnostic,) = refused_registry(root)
    log, command = re.match("see (.+?); .*`millstream (.+?)` removes all of it", diagnostic.help).groups()
    assert (diagnostic.code, "data/" in Path(log).read_text()) == ("MS817", True)
    assert run(command, "--yes").code == 0
    keep_registry(root, {})
    monkeypatch.setattr("millstream.local.server.shared._START", 0.5)
    monkeypatch.setattr("millstream.local.server.process._PATIENCE", 0.5)
    os.kill(registry_status(root).pid, signal.SIGSTOP)
    (diagnostic,) = refused_registry(root)
    command = re.search("`millstream (.+)` stops it", diagnostic.help)[1]
    assert diagnostic.code == "MS818"
    assert run(*command.split()).code == 0
    assert registry_status(root).state == "stopped"
    monkeypatch.undo()
    with shared_registry(root, {}):
        assert registry_status(root).state == "running"


def refused_registry(root):
    with pytest.raises(MillstreamError) as caught, shared_registry(root, {}):
        pass
    return caught.value.diagnostics
