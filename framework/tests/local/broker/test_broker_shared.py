"""A real Kafka, shared by those who need it."""

import os
import signal
import socket
import time

import pytest
from support.kafka import consume, create, pid_told_by, produce, user

from millstream.core.errors import MillstreamError
from millstream.local.broker import broker_folder_of, broker_status, keep_broker, shared_broker, stop_broker
from millstream.local.broker.kafka import broker_answers
from millstream.local.server.state import read_state


@pytest.mark.long
def test_what_was_produced_is_there_after_a_restart(root):
    with shared_broker(root) as starting:
        broker = starting.ready()
        create(broker, "events")
        produce(broker, "events", "a", "b")
    assert broker_status(root).state == "stopped"
    with shared_broker(root) as starting:
        assert starting.ready().pid != broker.pid
        assert starting.ready().address == broker.address
        assert consume(starting.ready(), "events", 2) == ["a", "b"]


def test_it_is_entered_before_it_is_ready_and_tells_how_it_is(root):
    start = time.monotonic()
    with shared_broker(root) as starting:
        assert time.monotonic() - start < 0.6
        assert broker_status(root).state == "starting"
        broker = starting.ready()
        status = broker_status(root)
        assert (status.state, status.pid, status.used, status.keeps_running) == (
            "running",
            broker.pid,
            True,
            False,
        )
        assert "Kafka Server started" in status.log.read_text()


def test_another_kafka_at_the_port_is_not_taken_for_ours(root):
    with shared_broker(root) as starting:
        starting.ready()
        state = read_state(broker_folder_of(root))
        assert broker_answers(state)
        assert not broker_answers(type(state)(state.port, "AnotherClustersIdAAAAA"))


def test_processes_that_start_at_once_share_one_that_the_last_one_stops(root):
    with user(root) as first, user(root) as second:
        assert pid_told_by(first) == pid_told_by(second)
        first.communicate("\n")
        assert broker_status(root).state == "running"
        second.communicate("\n")
        assert broker_status(root).state == "stopped"


@pytest.mark.long
def test_a_killed_broker_is_started_again_with_its_data(root):
    with user(root) as process, shared_broker(root) as starting:
        broker = starting.ready()
        assert pid_told_by(process) == broker.pid
        create(broker, "kept")
        produce(broker, "kept", "x", "y")
        os.kill(broker.pid, signal.SIGKILL)
        while broker_status(root).state != "stopped":
            time.sleep(0.01)
        with shared_broker(root) as again:
            assert again.ready().pid != broker.pid
            assert consume(again.ready(), "kept", 2) == ["x", "y"]


def test_a_killed_user_leaves_a_broker_that_the_next_one_stops(root):
    with user(root) as process:
        pid = pid_told_by(process)
        process.kill()
        process.wait()
    status = broker_status(root)
    assert (status.state, status.used) == ("running", False)
    with shared_broker(root) as starting:
        assert starting.ready().pid == pid
    assert broker_status(root).state == "stopped"


def test_a_kept_broker_outlives_its_users_until_it_is_stopped(root):
    broker = keep_broker(root)
    with shared_broker(root) as starting:
        assert starting.ready() == broker
    assert broker_status(root).keeps_running
    assert stop_broker(root) == "stopped"
    assert stop_broker(root) == "not running"


def test_a_broker_in_use_stops_with_its_last_user(root):
    with shared_broker(root) as starting:
        keep_broker(root)
        assert stop_broker(root) == "in use"
        assert broker_status(root).pid == starting.ready().pid
    assert broker_status(root).state == "stopped"


def test_force_stops_it_under_its_users_even_while_it_starts(root):
    with shared_broker(root):
        assert stop_broker(root, force=True) == "stopped"


@pytest.mark.long
def test_a_port_that_was_taken_meanwhile(root):
    for _ in range(5):
        with shared_broker(root) as starting, socket.socket() as other:
            port = read_state(broker_folder_of(root)).port
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                other.bind(("127.0.0.1", port))
            except OSError:
                continue  # the broker was faster
            other.listen()
            assert starting.ready().address != f"127.0.0.1:{port}"
            return
    pytest.fail("the broker had its port each time before it could be taken")


def test_a_broker_that_ends_at_its_start_is_told_with_its_log(tmp_path):
    data = tmp_path / ".millstream/broker/data"
    data.mkdir(parents=True)
    (data / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=7\n")
    with shared_broker(tmp_path) as starting, pytest.raises(MillstreamError) as caught:
        starting.ready()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "MS811"
    assert any("node id 7" in note.message for note in diagnostic.notes)
    assert "logs/broker.log" in diagnostic.help
