"""Which run has which query: by locks of the kernel, or by files that change as long as their run lives."""

import threading
import time
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone

import pytest

from millstream.core.errors import MillstreamError
from millstream.deploy.shared_target import enter_target
from millstream.engine.spark import query_locks, target_lock
from millstream.engine.spark.query_locks import Heartbeat, Heartbeats, LocalLocks
from millstream.engine.spark.target_lock import LOCK
from millstream.local.holders import LockHolder
from millstream.local.locks import is_locked
from millstream.stores.files import LocalFiles

HOLDER = LockHolder("millstream run", 17, datetime(2026, 1, 1, tzinfo=timezone.utc))


@contextmanager
def local(folder, _name):
    with ExitStack() as stack:
        yield LocalLocks(folder, stack)


def refused(by):
    raise AssertionError(by)


@contextmanager
def signs(folder, name):
    signs = Heartbeats(LocalFiles(), str(folder), Heartbeat(name, f"host {name}", HOLDER), refused)
    with signs.beating():
        yield signs


@pytest.fixture(params=[local, signs])
def runs(request, tmp_path, monkeypatch):
    """Return what starts a run of a name."""
    monkeypatch.setattr(query_locks, "BEAT", 0.05)
    monkeypatch.setattr(query_locks, "PATIENCE", 30)  # nobody ends so, on a busy machine either
    monkeypatch.setattr(query_locks, "_POLL", 0.02)
    return lambda name: request.param(tmp_path, name)


def test_each_query_has_one_run(runs):
    with runs("a") as a, runs("b") as b:
        with a.setup():
            assert a.others() == {}
            assert a.take(["one", "two"]) == {}
        with b.setup():
            assert set(b.others()) == {"one", "two"}
            assert list(b.take(["two", "three"])) == ["two"]  # and none of them
            assert b.take(["three"]) == {}
        with a.setup():
            assert set(a.others()) == {"three"}
            assert a.take(["two", "four"]) == {}  # it has one of them already
        with b.setup():
            assert set(b.others()) == {"one", "two", "four"}
    with runs("c") as c, c.setup():
        assert c.others() == {}


def test_one_run_at_a_time_starts(runs):
    order = []

    def start(run, name):
        with run.setup():
            order.append(f"{name} begins")
            run.take([name])
            order.append(f"{name} ends")

    with ExitStack() as stack:
        started = [(stack.enter_context(runs(name)), name) for name in ("a", "b", "c")]
        threads = [threading.Thread(target=start, args=arguments) for arguments in started]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert len(order) == 6
    assert all(one.split()[0] == other.split()[0] for one, other in zip(order[::2], order[1::2], strict=True))


def test_a_run_waits_for_the_queries_that_it_needs(runs):
    with ExitStack() as other, runs("b") as b:
        a = other.enter_context(runs("a"))
        with a.setup():
            a.take(["one"])
        with pytest.raises(MillstreamError, match="already runs the query one"):
            enter_target(b, lambda _: ["one"], None)
        message = []

        def waiting(by):
            message.append(by)
            other.close()

        sharing = enter_target(b, lambda _: ["one"], waiting)
        sharing.setup.close()
        assert len(message) == 1


def test_whoever_does_not_write_any_more_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(query_locks, "BEAT", 0.05)
    monkeypatch.setattr(query_locks, "PATIENCE", 0.5)
    monkeypatch.setattr(query_locks, "_POLL", 0.02)
    killed = Heartbeats(
        LocalFiles(), str(tmp_path), Heartbeat("k", "far", HOLDER, ("one",), setup=True), refused
    )
    killed._write()
    with signs(tmp_path, "b") as b, b.setup():
        assert b.others() == {}
        assert b.take(["one"]) == {}


class Failing(LocalFiles, frozen=False):
    fails: bool = False

    def write(self, path, content):
        if self.fails:
            raise OSError("no answer")
        super().write(path, content)


def test_a_file_system_that_fails_for_too_long_ends_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(query_locks, "BEAT", 0.02)
    monkeypatch.setattr(query_locks, "LOST", 2.0)
    files, lost = Failing(), threading.Event()
    signs = Heartbeats(files, str(tmp_path), Heartbeat("a", "here", HOLDER), refused)
    with signs.beating(lost.set):
        files.fails = True
        files.fails = False
        before = signs._sign.beat
        while signs._sign.beat < before + 3:  # it writes again
            assert not signs.lost
        assert not lost.is_set()
        files.fails = True
        assert lost.wait(30)
        assert signs.lost


def test_of_commands_that_start_together_one_has_the_target(tmp_path, monkeypatch):
    """On a file system without locks; by the kernel's, that is what a lock is."""
    monkeypatch.setattr(query_locks, "BEAT", 0.05)
    monkeypatch.setattr(query_locks, "_POLL", 0.02)
    monkeypatch.setattr(target_lock, "local_path", lambda _: None)
    at_once, ended, inside, refusals = threading.Barrier(4), threading.Event(), [], []

    def command(name):
        at_once.wait(30)
        try:
            with target_lock.checkpoints_lock(str(tmp_path), LocalFiles(), "production"):
                inside.append(name)
                assert ended.wait(30)
        except MillstreamError as error:
            refusals.append(error.diagnostics[0].code)

    threads = [threading.Thread(target=command, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while len(refusals) < 3:
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    ended.set()
    for thread in threads:
        thread.join(30)
    assert len(inside) == 1
    assert refusals == ["MS874"] * 3
    assert LocalFiles().names(f"{tmp_path}/locks") == []


def test_a_build_and_runs_that_share_a_target_exclude_each_other(tmp_path):
    with local(tmp_path, "a") as a, target_lock.target_lock(tmp_path, "local", shared=True):
        with a.setup():
            a.take(["one"])
        with pytest.raises(MillstreamError, match=r"`.*` \(process .* is using the target 'local'"):
            target_lock.target_lock(tmp_path, "local").__enter__()
        assert not is_locked(tmp_path / LOCK)
        assert is_locked(tmp_path / LOCK, shared=True)
        with target_lock.target_lock(tmp_path, "local", shared=True):
            pass
    with target_lock.target_lock(tmp_path, "local"), pytest.raises(MillstreamError, match="MS874"):
        target_lock.target_lock(tmp_path, "local", shared=True).__enter__()


def test_so_do_they_on_other_machines(tmp_path, monkeypatch):
    monkeypatch.setattr(query_locks, "BEAT", 0.05)
    monkeypatch.setattr(query_locks, "PATIENCE", 30)  # nobody ends so, on a busy machine either
    monkeypatch.setattr(target_lock, "local_path", lambda _: None)
    files, folder = LocalFiles(), str(tmp_path)
    with target_lock.shared_lock(folder, files, "production") as run:
        with run.setup():
            run.take(["one"])
        with pytest.raises(MillstreamError, match="is using the target 'production'"):
            target_lock.checkpoints_lock(folder, files, "production").__enter__()
        with target_lock.shared_lock(folder, files, "production") as other, other.setup():
            assert set(other.others()) == {"one"}
    with (
        target_lock.checkpoints_lock(folder, files, "production"),
        target_lock.shared_lock(folder, files, "production") as run,
        pytest.raises(MillstreamError, match="MS874"),
    ):
        run.setup().__enter__()
