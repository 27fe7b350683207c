"""Runs a command in a warm session, if there is one. Every command imports this module: it needs little."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from millstream.local.warm_session.address import is_switched_off, nearest_project, session_address
from millstream.local.warm_session.identity import session_identity
from millstream.local.warm_session.messages import Message, receive_message, send_message

_PATIENCE = 5.0
"""Seconds in which a session answers; it imports modules while it has nothing else to do."""
_silent: list[Path] = []
"""The project whose session does not answer: this process does without it."""

if sys.platform != "win32":
    _FORWARDED = (
        signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGWINCH, signal.SIGCONT,
    )  # fmt: skip
    _STOPPED = (signal.SIGTSTP,)


def run_in_session(arguments: list[str]) -> int | None:
    """Run a command in the session of its project, and return its exit code; None if it runs here."""
    if is_switched_off() or "--no-session" in arguments:
        return None
    root = nearest_project(arguments)
    if root is None or (connection := connect(root)) is None:
        return None
    with connection:
        try:
            return _run(connection, arguments)
        except OSError:  # it ended before it began the command
            return None


def connect(root: Path) -> socket.socket | None:
    """Return a connection to the session of a project, or None if it has none that answers."""
    if sys.platform == "win32" or root in _silent:
        return None
    address = session_address(root)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if address.socket.lstat().st_uid == os.getuid():
            connection.connect(str(address.socket))
            if _answers(connection):
                return connection
    except TimeoutError:
        _silent.append(root)
        sys.stderr.write("The warm session of this project does not answer; this command does without it.\n")
    except OSError:
        pass
    connection.close()
    return None


def is_silent(root: Path) -> bool:
    """Return whether this process has found a session that does not answer."""
    return root in _silent


def _answers(connection: socket.socket) -> bool:
    """Return whether the session is there; raise a `TimeoutError` if its process is suspended."""
    connection.settimeout(_PATIENCE)
    send_message(connection, {"kind": "hello"})
    is_there = bool(connection.recv(1, socket.MSG_PEEK)) and receive_message(connection) is not None
    connection.settimeout(None)
    return is_there


def ask_session(connection: socket.socket, message: Message) -> Message | None:
    """Return the session's answer, or None if it has ended."""
    try:
        send_message(connection, message)
    except OSError:
        return None
    received = receive_message(connection)
    return received and received[0]


def _run(connection: socket.socket, arguments: list[str]) -> int | None:
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        send_message(connection, _command(arguments), (0, 1, 2, folder))
    finally:
        os.close(folder)
    received = receive_message(connection)
    if received is None or (process := received[0].get("process")) is None:
        return None
    with _Signals(process):
        received = receive_message(connection)
    if received is None:
        sys.stderr.write(
            "The warm session of this project has ended, and this command with it; run it again.\n"
        )
        return 1
    code: int = received[0]["exit"]
    if code < 0:
        end_by_signal(-code)
    return code


def _command(arguments: list[str]) -> Message:
    umask = os.umask(0)
    os.umask(umask)
    ignored = [n for n in (1, 2, 3, 13, 15) if signal.getsignal(n) == signal.SIG_IGN]
    return {
        "kind": "run",
        "identity": session_identity(),
        "arguments": arguments,
        "program": sys.argv[0],
        "import_folder": sys.path[0],
        "environment": dict(os.environ),
        "umask": umask,
        "ignored": ignored,
    }


class _Signals:
    """Passes signals of this process on to the one that runs the command."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (*_FORWARDED, *_STOPPED):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._pass_on)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        try:
            os.kill(self._process, signal.SIGSTOP if number in _STOPPED else number)
        except ProcessLookupError:
            return
        if number in _STOPPED:
            os.kill(os.getpid(), signal.SIGSTOP)


def end_by_signal(number: int) -> None:
    """End this process as the command's process has ended."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def stop_session(root: Path) -> bool | None:
    """Stop the session of a project; return False if it is in use, and None if there is none."""
    if (connection := connect(root)) is None:
        return None
    with connection:
        answer = ask_session(connection, {"kind": "stop"})
        if answer and answer["stopped"]:
            receive_message(connection)  # its end
            return True
    return None if answer is None else False
