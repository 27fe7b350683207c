"""What functions log, from a worker to a run: here, both are this process."""

import logging
import queue
import socket
from contextlib import contextmanager
from types import SimpleNamespace

import pyarrow as pa
import pytest

from millstream.core.user_code import SourceFile
from millstream.deploy.live.function_logs import receive_logs
from millstream.engine.python import forwarding
from millstream.engine.python.forwarding import LogAddress, forwards
from millstream.engine.python.worker import SqlFunction, located_call

PATIENCE = 30
logger = logging.getLogger("shop")
FILE = """
import logging

def logs(value: int) -> int:
    logging.getLogger(__name__).warning("%s of %d", value, "x")
    return value
"""


@pytest.fixture
def received():
    return queue.SimpleQueue()


@pytest.fixture
def address(received):
    with receive_logs("127.0.0.1", "127.0.0.1", received.put) as address:
        yield address._replace(models=("plain",))


@contextmanager
def worker():
    """Have no handlers but those of a worker."""
    root = logging.getLogger()
    level, root.level = root.level, logging.WARNING
    handlers, root.handlers = root.handlers, []
    try:
        yield
    finally:
        for handler in root.handlers:
            handler.close()
        root.setLevel(level)
        root.handlers = handlers


def test_a_record_has_its_function_and_row(address, received):
    located = located_call(SqlFunction(SourceFile("macros/f.py", FILE, "1"), "logs", pa.int64(), log=address))
    positions = pa.array([{"user": "a"}, None, {"user": "c"}])
    with worker():
        assert located(positions, pa.array([1, 2, 3])).to_pylist() == [1, None, 3]
    first, second = (received.get(timeout=PATIENCE) for _ in range(2))
    assert (first.function, first.models, first.level, first.location) == (
        "logs", ("plain",), "warning", {"user": "a"},
    )  # fmt: skip
    # Arguments that don't fit the message are the user's mistake, and stop nothing.
    assert (second.message, second.logger, second.location) == ("%s of %d", "macros/f.py", {"user": "c"})


def test_levels_begin_with_info_and_tracebacks_are_sent(address, received):
    with worker(), forwards("f", address):
        logger.debug("not this")
        try:
            refused(ValueError("why"))
        except ValueError:
            logger.info("this", exc_info=True)
    event = received.get(timeout=PATIENCE)
    assert (event.message, event.exception.splitlines()[-1]) == ("this", "ValueError: why")
    logger.warning("outside of a call")
    assert received.empty()


def test_a_flood_is_cut_and_counted(address, received, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(forwarding, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with worker(), forwards("f", address):
        for _ in range(10 * forwarding.MOST):
            logger.warning("flood")
        now[0] += 60
        logger.warning("after")
    events = [received.get(timeout=PATIENCE) for _ in range(forwarding.MOST + 1)]
    assert {event.left_out for event in events[:-1]} == {0}
    assert (events[-1].message, events[-1].left_out) == ("after", 9 * forwarding.MOST)


def test_long_texts_are_cut(address, received):
    with worker(), forwards("f", address):
        logger.warning("x" * 1_000_000)
    assert len(received.get(timeout=PATIENCE).message) == forwarding.LONGEST


def test_nothing_is_taken_without_the_token(address, received):
    for token in ("0" * len(address.token), address.token[:-1] + "é"):
        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(f'{token}\n{{"function": "f"}}\n'.encode())
            connection.settimeout(PATIENCE)
            assert connection.recv(1) == b""
    with worker(), forwards("f", address):
        logger.warning("with it")
    assert received.get(timeout=PATIENCE).message == "with it"
    assert received.empty()


def test_what_is_no_record_is_ignored_and_lines_without_end_are_refused(address, received):
    with socket.create_connection((address.host, address.port)) as connection:
        connection.sendall(f"{address.token}\n[1]\n".encode())
        connection.settimeout(PATIENCE)
        try:
            connection.sendall(b"x" * 5_000_000)
            assert connection.recv(1) == b""
        except ConnectionError:
            pass  # it was closed while this was sent
    assert received.empty()


def test_a_run_that_has_ended_slows_and_stops_no_function(address, received, capsys, monkeypatch):
    tries = []
    monkeypatch.setattr(
        forwarding.socket,
        "create_connection",
        lambda *arguments: tries.append(arguments) or refused(ConnectionRefusedError()),
    )
    gone = LogAddress("127.0.0.1", 1, "token")
    with worker(), forwards("f", gone):
        logger.warning("first")
        logger.warning("second")
    assert len(tries) == 1
    assert capsys.readouterr().err.splitlines() == ["first", "second"]


def refused(error):
    raise error
