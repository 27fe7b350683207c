"""Sends what functions log in Spark's Python workers to the run, over a connection of each worker.

The workers of a cluster need no Millstream: pickle sends them this module, once for each function. So what a
worker has only once is the handler of its root logger, which is found by its name.
"""

from __future__ import annotations

import json
import logging
import socket
import time
from typing import Any, NamedTuple

MOST = 200
"""The most records of one function in a minute of one worker."""
LONGEST = 10_000
"""Characters of a message or a traceback that are sent."""
_NAME = "millstream"
_FILES = "millstream_functions_"
"""The prefix of the names of modules that are files of macros/."""
_MINUTE = 60.0
_PATIENCE = 2.0
"""Seconds to connect or to send; a function waits meanwhile."""
_AGAIN = 30.0
"""Seconds after which another connection is tried."""


class LogAddress(NamedTuple):
    """Where a run receives what functions log, and for whom they are called."""

    host: str
    port: int
    token: str
    models: tuple[str, ...] = ()


class BatchCalls:
    """The calls of a function for a batch of rows, while they are made."""

    def __init__(self, function: str, address: LogAddress, locations: Any = None) -> None:
        self.function = function
        self.address = address
        self.locations = locations
        """Where the rows are from: an Arrow array of structs, or a list of mappings; None if unknown."""
        self.row = 0
        """The index of the row that the function is called for."""

    def location(self) -> dict[str, str]:
        if self.locations is None:
            return {}
        row = self.locations[self.row]
        location = row if isinstance(row, dict) else row.as_py()
        return {name: str(value) for name, value in (location or {}).items()}


class forwards:  # noqa: N801 - used like a function
    """Forwards what is logged while a function is called, if there is an address."""

    def __init__(self, function: str, address: LogAddress | None, locations: Any = None) -> None:
        self.calls = BatchCalls(function, address, locations) if address is not None else None

    def __enter__(self) -> BatchCalls | None:
        if self.calls is not None:
            _forwarder().calls = self.calls
        return self.calls

    def __exit__(self, *_: object) -> None:
        if self.calls is not None:
            _forwarder().calls = None


def _forwarder() -> Any:
    """Return this worker's only handler."""
    root = logging.getLogger()
    for handler in root.handlers:
        if handler.get_name() == _NAME:
            return handler
    forwarder = Forwarder()
    forwarder.set_name(_NAME)
    root.addHandler(forwarder)
    if root.level == logging.WARNING:  # Python's default
        root.setLevel(logging.INFO)
    return forwarder


class Forwarder(logging.Handler):
    """Sends records to a run; what can't be sent goes to standard error, as without a handler."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: BatchCalls | None = None
        self._connected: tuple[Any, ...] = ()
        self._socket: socket.socket | None = None
        self._not_before = 0.0
        self._minutes: dict[str, list[float]] = {}
        """By function: when its minute began, its records, and those left out since one was sent."""

    def emit(self, record: logging.LogRecord) -> None:
        calls = self.calls
        if calls is None:
            _to_standard_error(record)
            return
        left_out = self._left_out(calls.function)
        if left_out is None:
            return
        line = json.dumps(_content(record, calls) | {"left_out": left_out}).encode() + b"\n"
        if not self._sent(line, calls.address):
            _to_standard_error(record)

    def _left_out(self, function: str) -> int | None:
        """Return how many records were left out since the last one; None to leave this one out as well."""
        now = time.monotonic()
        minute = self._minutes.setdefault(function, [now, 0, 0])
        if now - minute[0] >= _MINUTE:
            minute[0], minute[1] = now, 0
        if minute[1] >= MOST:
            minute[2] += 1
            return None
        left_out, minute[2] = int(minute[2]), 0
        minute[1] += 1
        return left_out

    def _sent(self, line: bytes, address: LogAddress) -> bool:
        try:
            if self._socket is None or self._connected != address[:3]:
                self._connect(address)
            if self._socket is None:
                return False
            self._socket.sendall(line)
        except OSError:
            self._disconnect()
            self._not_before = time.monotonic() + _AGAIN
            return False
        return True

    def _connect(self, address: LogAddress) -> None:
        self._disconnect()
        if self._connected == address[:3] and time.monotonic() < self._not_before:
            return
        self._connected = address[:3]
        self._socket = socket.create_connection((address.host, address.port), _PATIENCE)
        self._socket.sendall(address.token.encode() + b"\n")

    def close(self) -> None:
        self._disconnect()
        super().close()

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _content(record: logging.LogRecord, calls: BatchCalls) -> dict[str, Any]:
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - arguments that don't fit the message, or whatever their classes raise
        message = str(record.msg)
    exception = ""
    if record.exc_info and record.exc_info[0] is not None:
        exception = logging.Formatter().formatException(record.exc_info)
    return {
        "function": calls.function,
        "models": list(calls.address.models),
        "level": record.levelname.lower(),
        "message": message[:LONGEST],
        # The name of a file of macros/ is that of its contents.
        "logger": record.pathname if record.name.startswith(_FILES) else record.name,
        "exception": exception[-LONGEST:],
        "at": calls.location(),
    }


def _to_standard_error(record: logging.LogRecord) -> None:
    if logging.lastResort is not None and record.levelno >= logging.lastResort.level:
        logging.lastResort.handle(record)
