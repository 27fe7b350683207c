"""Receives what Python functions log in Spark's workers, here or on other machines."""

from __future__ import annotations

import hmac
import secrets
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from millstream.deploy.values import FunctionLogged, Tell
from millstream.engine.python.forwarding import LogAddress

_LONGEST = 200_000
"""Bytes of a line; longer ones are refused with their connection."""
_TOKEN = 5.0
"""Seconds in which a connection must present the token."""
_POLL = 0.1
_LAST = 2.0
"""Seconds to read what workers have sent before the end."""


@contextmanager
def receive_logs(host: str, bound: str, tell: Tell) -> Iterator[LogAddress]:
    """Yield the address to which workers send what functions log; each record becomes an event.

    `host` is this machine's name for workers, and `bound` the address to listen on.
    """
    with _Server((bound, 0), _Connection) as server:
        server.tell, server.token = tell, secrets.token_hex(16)
        thread = threading.Thread(
            target=server.serve_forever, args=(_POLL,), name="function logs", daemon=True
        )
        thread.start()
        try:
            yield LogAddress(host, server.server_address[1], server.token)
        finally:
            server.shutdown()
            server.end()
            thread.join()


def driver_addresses(spark: SparkSession) -> tuple[str, str]:
    """Return the driver's name for workers, and the address on which it listens."""
    settings = spark.sparkContext.getConf()
    host = settings.get("spark.driver.host") or "127.0.0.1"
    return host, settings.get("spark.driver.bindAddress") or host


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    tell: Tell
    token: str

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.ending = threading.Event()
        self._open: set[threading.Thread] = set()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self._open.add(threading.current_thread())
        super().process_request_thread(request, client_address)
        self._open.discard(threading.current_thread())

    def end(self) -> None:
        """Read what has been sent until now, and close the connections."""
        self.ending.set()
        deadline = time.monotonic() + _LAST
        for thread in list(self._open):
            thread.join(max(0.0, deadline - time.monotonic()))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: a worker has ended, and Spark reports why."""


class _Connection(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.request.settimeout(_TOKEN)
        rest = self._authenticated()
        if rest is None:
            return
        self.request.settimeout(_POLL)
        while (lines := rest.split(b"\n")) and len(rest := lines.pop()) <= _LONGEST:
            for line in lines:
                self._tell(line)
            try:
                received = self.request.recv(65536)
            except TimeoutError:
                if self.server.ending.is_set():
                    return
                continue
            if not received:
                return
            rest += received

    def _authenticated(self) -> bytes | None:
        """Return what follows the token; None if it is another one."""
        expected = self.server.token.encode() + b"\n"
        content = b""
        while len(content) < len(expected):
            received = self.request.recv(65536)
            if not received:
                return None
            content += received
        return content[len(expected) :] if hmac.compare_digest(content[: len(expected)], expected) else None

    def _tell(self, line: bytes) -> None:
        try:
            logged = msgspec.json.decode(line, type=FunctionLogged)
        except msgspec.DecodeError:
            return  # not from a worker of this version
        self.server.tell(logged)
