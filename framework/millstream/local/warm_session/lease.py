"""Borrows Spark's JVM from a warm session, which is started if there is none."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from millstream.core.own_folder import OWN_FOLDER, make_folder
from millstream.local.environment import for_spark
from millstream.local.warm_session.address import SessionAddress, session_address
from millstream.local.warm_session.client import ask_session, connect, is_silent
from millstream.local.warm_session.identity import session_identity
from millstream.local.warm_session.jvm import JvmRequest
from millstream.local.warm_session.messages import receive_message
from millstream.local.warm_session.use import SessionUse


class BorrowedJvm:
    """The JVM of a session, as long as this process uses it; it has the methods of `Popen` that it needs."""

    def __init__(self, connection: socket.socket, port: int, secret: str, pid: int) -> None:
        self._connection, self.port, self.secret, self.pid = connection, port, secret, pid
        self._code: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code of the JVM once it has ended."""
        if self._code is None:
            readable, _, _ = select.select([self._connection], [], [], timeout)
            if not readable:
                raise subprocess.TimeoutExpired(("java",), timeout or 0)
            received = receive_message(self._connection)
            self._code = received[0].get("ended", 1) if received else -signal.SIGKILL
        return self._code

    def kill(self) -> None:
        if self._code is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                return

    def give_back(self) -> None:
        """Leave the JVM to the session, which stops the Spark context in it."""
        ask_session(self._connection, {"kind": "release", "modules": [*sys.modules]})
        self._connection.close()


class SessionConnection:
    """A connection to a session, by which its JVM is borrowed."""

    def __init__(self, connection: socket.socket, folder: Path, log_configuration: str) -> None:
        self._connection, self._log_configuration = connection, log_configuration
        self.folder = folder
        """Where the session has its logs."""
        self.running_jars: tuple[str, ...] = ()
        self.running_heap = 0
        """What the JVM has that does not fit: a larger one does for this command and for those before."""

    def borrow_running(self, request: JvmRequest) -> BorrowedJvm | None:
        """Borrow the JVM that runs, if it fits."""
        answer = self._ask(request)
        self.running_jars = tuple(answer.get("jars", ()))
        self.running_heap = answer.get("heap", 0)
        return self._borrowed(answer)

    def borrow_new(self, request: JvmRequest) -> BorrowedJvm | None:
        """Let the session start a JVM, and borrow it."""
        return self._borrowed(self._ask(request))

    def close(self) -> None:
        self._connection.close()

    def _ask(self, request: JvmRequest) -> dict[str, Any]:
        message = {
            "kind": "jvm",
            "request": to_builtins(request),
            "log_configuration": self._log_configuration,
        }
        return ask_session(self._connection, message) or {}

    def _borrowed(self, answer: dict[str, Any]) -> BorrowedJvm | None:
        if "port" not in answer:
            return None
        return BorrowedJvm(self._connection, answer["port"], answer["secret"], answer["process"])


def connect_session(use: SessionUse, log_configuration: str) -> SessionConnection | None:
    """Connect to the session of a project, or start one; return None if that is not possible."""
    root = use.find_root()
    folder = root / OWN_FOLDER / "session"
    connection = connect(root)
    if connection is None and not is_silent(root):
        minutes = use.minutes()
        if minutes <= 0:
            return None
        try:
            make_folder(folder)
            _start(root, session_address(root), folder, minutes)
        except (OSError, subprocess.CalledProcessError):
            return None  # a full disk, or a folder that can't be written: the command starts its own JVM
        connection = connect(root)
        use.on_start(minutes)
    return SessionConnection(connection, folder, log_configuration) if connection else None


def _start(root: Path, address: SessionAddress, folder: Path, minutes: float) -> None:
    """Start the session's process, which outlives this one; it forks when it can be reached."""
    program = "from millstream.cli.session_process import main; main()"
    files = (str(root), str(address.folder), address.name)
    arguments = [sys.executable, "-c", program, *files, session_identity(), str(minutes * 60)]
    with (folder / "session.log").open("ab") as log:
        subprocess.run(  # noqa: S603
            arguments,
            cwd=root,
            env=for_spark(os.environ, ()),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )
