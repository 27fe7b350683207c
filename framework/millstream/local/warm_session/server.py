"""The process of a warm session: forks commands, and lends its JVM to one of them at a time.

It has no threads, so that a fork of it is whole. What a client asks is answered when its time comes; a client
that has gone is a command that was killed: its process and its JVM are killed, too.
"""

from __future__ import annotations

import math
import os
import selectors
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from millstream.local.warm_session.jvm import JvmProcess, JvmRequest, memory_of, read_request
from millstream.local.warm_session.messages import Message, receive_message, send_message

_PATIENCE = {"starting": 180.0, "opening": 30.0, "closing": 60.0}
"""Seconds for what a JVM does, on a machine with much other work; one that is suspended does nothing."""
_WAITING = 64


class ForkedCommand(Struct, frozen=True):
    """What a forked process runs; the session's own process goes on."""

    arguments: list[str]
    program: str
    import_folder: str
    environment: dict[str, str]
    umask: int
    ignored: list[int]
    """Signals that the client ignores, as under `nohup`."""
    files: list[int]
    """Standard input, output and error, and the current folder."""


class Hooks(Struct, frozen=True):
    """What a session does that this package knows nothing of."""

    import_module: Callable[[str], None]
    """Import a module that a command has imported, when nothing else is to be done."""
    keep_server: Callable[[str], None]
    """Use a server of the project, such as its broker, so that it keeps running."""
    leave_server: Callable[[str], None]


class _Client:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.process: int | None = None
        """The forked process that it waits for."""
        self.request: JvmRequest | None = None
        """The JVM that it waits for or has."""
        self.log_configuration = ""

    def send(self, message: Message) -> None:
        try:
            send_message(self.connection, message)
        except OSError:
            return  # its end is seen when it is read from


class SessionServer:
    def __init__(self, listener: socket.socket, identity: str, idle: float, hooks: Hooks) -> None:
        self._listener, self._identity, self._idle, self._hooks = listener, identity, idle, hooks
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, _Client] = {}
        self._killed: set[int] = set()
        self._jvm: JvmProcess | None = None
        self._borrower: _Client | None = None
        self._stopping = False
        self._modules: deque[str] = deque()
        self._used = self._started = time.monotonic()
        self._wakeup, wake = socket.socketpair()
        self._wakeup.setblocking(False)
        wake.setblocking(False)
        self._wake = wake
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno())
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wakeup, selectors.EVENT_READ, self._reap)

    # -- the loop

    def serve(self) -> ForkedCommand | None:
        """Serve until the session ends; in a forked process, return what it runs."""
        while not self._is_over():
            events = self._selector.select(self._patience())
            for key, _ in events:
                if self._selector.get_map().get(key.fd) != key:
                    continue  # closed by what another event of this round has done
                if isinstance(forked := key.data(), ForkedCommand):
                    return forked
            if not events and self._modules and not self._busy:
                self._hooks.import_module(self._modules.popleft())
            if self._jvm and time.monotonic() - self._used > _PATIENCE.get(self._jvm.state, math.inf):
                self._end_jvm()
        self._end_jvm()
        return None

    @property
    def _busy(self) -> bool:
        return self._borrower is not None or any(client.process for client in self._clients.values())

    def _is_over(self) -> bool:
        if self._busy:
            return False
        return self._stopping or time.monotonic() - self._used > self._idle

    def _patience(self) -> float:
        if self._modules and not self._busy:
            return 0
        if self._jvm and self._jvm.state in _PATIENCE:
            return 5.0
        return max(0.05, min(self._idle - (time.monotonic() - self._used), 60.0)) if not self._busy else 60.0

    # -- clients

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        self._clients[connection.fileno()] = client = _Client(connection)
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._read(client))

    def _read(self, client: _Client) -> ForkedCommand | None:
        received = receive_message(client.connection)
        if received is None:
            self._forget(client)
            return None
        message, files = received
        match message["kind"]:
            case "hello":
                client.send({"here": True})
            case "run":
                return self._run(client, message, files)
            case "jvm":
                self._lend(client, message)
            case "release":
                self._take_back(client)
                self._modules.extend(name for name in message["modules"] if name not in sys.modules)
            case "keep":
                self._hooks.keep_server(message["server"])
                client.send({"kept": True})
            case "leave":
                self._hooks.leave_server(message["server"])
                client.send({"left": True})
            case "status":
                client.send(self._status())
            case "stop":
                self._stop(client)
        return None

    def _forget(self, client: _Client) -> None:
        """Kill what a client that has gone was waiting for."""
        self._selector.unregister(client.connection)
        del self._clients[client.connection.fileno()]
        client.connection.close()
        if client.process is not None:
            os.kill(client.process, signal.SIGKILL)
            self._killed.add(client.process)
        if client is self._borrower:
            self._borrower = None
            self._end_jvm()
        self._used = time.monotonic()

    def _status(self) -> Message:
        jvm = self._jvm
        now = time.monotonic()
        return {
            "process": os.getpid(),
            "state": "in use" if self._busy else "idle",
            "seconds": round(now - self._started),
            "ends_in_seconds": None if self._busy else max(0, round(self._idle - (now - self._used))),
            "jvm": jvm
            and {"process": jvm.process.pid, "commands": jvm.commands, "heap_mib": jvm.request.heap},
            "memory_mib": (memory_of(os.getpid()) + (memory_of(jvm.process.pid) if jvm else 0)) >> 20,
        }

    def _stop(self, client: _Client) -> None:
        if self._busy:
            client.send({"stopped": False})
            return
        self._stopping = True
        self._end_jvm()
        client.send({"stopped": True})

    # -- commands

    def _run(self, client: _Client, message: Message, files: list[int]) -> ForkedCommand | None:
        if message.pop("identity") != self._identity or self._stopping:
            # Another version of Millstream, its packages or its environment: that has a session of its own.
            self._stopping = True
            client.send({"refused": "other version"})
            _close(files)
            return None
        try:
            process = os.fork()
        except OSError as error:  # too many processes, or no memory: the command runs without the session
            client.send({"refused": str(error)})
            _close(files)
            return None
        if process == 0:
            self._leave_to_child()
            del message["kind"]
            return ForkedCommand(files=files, **message)
        _close(files)
        client.process = process
        client.send({"process": process})
        return None

    def _leave_to_child(self) -> None:
        """Close all that belongs to the session: its JVM ends with the last copy of its standard input."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for client in self._clients.values():
            client.connection.close()
        for opened in (self._listener, self._wakeup, self._wake):
            opened.close()
        if self._jvm:
            self._jvm.close_pipes()
            self._jvm.process.returncode = 0  # it is not this process's child

    def _reap(self) -> None:
        while True:
            try:
                if not self._wakeup.recv(1024):
                    break
            except BlockingIOError:
                break
        self._killed = {process for process in self._killed if not os.waitpid(process, os.WNOHANG)[0]}
        for client in [*self._clients.values()]:
            if client.process is None:
                continue
            process, status = os.waitpid(client.process, os.WNOHANG)
            if process:
                client.process = None
                client.send({"exit": os.waitstatus_to_exitcode(status)})
                self._used = time.monotonic()

    # -- the JVM

    def _lend(self, client: _Client, message: Message) -> None:
        """Lend the JVM, if it fits; start one if the request says how, or else say what runs."""
        request = read_request(message["request"])
        waiting = any(other.request for other in self._clients.values())
        if self._borrower or waiting or self._stopping:
            client.send({"busy": True})
            return
        client.log_configuration = message["log_configuration"]
        jvm = self._jvm
        if not (jvm and request.fits(jvm.request)):
            if not request.command:
                similar = jvm and request.differs_at_most_in_size(jvm.request)
                client.send({"jars": jvm.request.jars, "heap": jvm.request.heap} if jvm and similar else {})
                return
            self._end_jvm()
        client.request = request
        self._used = time.monotonic()
        if self._jvm is None:
            self._start_jvm(client, request)
        elif self._jvm.state == "idle":
            self._open_for(client)

    def _start_jvm(self, client: _Client, request: JvmRequest) -> None:
        try:
            self._jvm = jvm = JvmProcess(request)
        except OSError:  # the command starts its own, or says why that is not possible
            client.request = None
            client.send({})
            return
        self._selector.register(jvm.answers, selectors.EVENT_READ, self._read_jvm)

    def _open_for(self, client: _Client) -> None:
        assert self._jvm is not None
        self._borrower, self._jvm.state = client, "opening"
        self._used = time.monotonic()
        self._jvm.ask(f"open {client.log_configuration}")

    def _read_jvm(self) -> None:
        assert self._jvm is not None
        lines = self._jvm.read_answers()
        if lines is None:
            self._end_jvm()
            return
        for line in lines:
            self._on_answer(self._jvm, line.split(" "))

    def _on_answer(self, jvm: JvmProcess, answer: list[str]) -> None:
        match jvm.state, answer:
            case ("opening", ["open", port, secret]) if self._borrower:
                jvm.state = "lent"
                jvm.commands += 1
                self._borrower.send({"port": int(port), "secret": secret, "process": jvm.process.pid})
            case ("starting", ["ready"]) | ("closing", ["closed"]):
                jvm.state = "idle"
                if jvm.is_too_large():
                    self._end_jvm()
                self._serve_waiting()
            case _:
                sys.stderr.write(f"Java: {' '.join(answer)}\n")
                self._end_jvm()

    def _serve_waiting(self) -> None:
        waiting = next((client for client in self._clients.values() if client.request), None)
        if waiting and waiting is not self._borrower:
            if self._jvm is not None:
                self._open_for(waiting)
            elif waiting.request and waiting.request.command:
                self._start_jvm(waiting, waiting.request)
            else:
                waiting.request = None
                waiting.send({})  # none runs any more: the client says how one is started

    def _take_back(self, client: _Client) -> None:
        if client is not self._borrower or self._jvm is None:
            return
        client.request = self._borrower = None
        self._used = time.monotonic()
        self._jvm.state = "closing"
        self._jvm.ask("close")
        client.send({"released": True})

    def _end_jvm(self) -> None:
        """End the JVM, and say so to the command that has it or waits for it."""
        if self._jvm is None:
            return
        jvm, self._jvm = self._jvm, None
        self._selector.unregister(jvm.answers)
        code = jvm.end()
        was_closing = jvm.state == "closing"
        for client in self._clients.values():
            if client.request and not (was_closing and client is not self._borrower):
                client.request = None
                client.send({"ended": code})
        self._borrower = None
        if was_closing:
            self._serve_waiting()


def _close(files: list[int]) -> None:
    for file in files:
        os.close(file)


def open_listener(socket_file: Path) -> socket.socket:
    socket_file.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(socket_file))
    listener.listen(_WAITING)
    return listener
