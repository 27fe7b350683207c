"""How a command reaches the run of its target: a port of this machine, and a file that only its user reads.

The file is next to the locks of the run. A file without a locked run is of one that was killed.
"""

from __future__ import annotations

import hmac
import secrets
import select
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from millstream import __version__
from millstream.core.atomic import replace_file
from millstream.core.decoding import from_json
from millstream.core.encoding import to_json
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import decode_id
from millstream.core.own_folder import make_folder
from millstream.deploy.handover.values import Answer, DeployFinished, Handshake, Request, RequestRefused
from millstream.engine.spark.target_lock import LOCK
from millstream.local.locks import is_locked
from millstream.project.folders import checkpoints_of, local_path, target_folder
from millstream.project.values import Target

_FILE = "run.json"
_HOST = "127.0.0.1"
_CONNECTING = 5.0
"""Seconds to connect: the run accepts immediately."""
_SILENT = 30.0
"""Seconds in which the request must follow; on a busy machine, a command waits for the processor, too."""
_LOOK = 0.2
"""Seconds between two looks at whether another request is still handled."""
_ANSWERS = msgspec.json.Decoder(Answer, dec_hook=decode_id)
_LONGEST = 1 << 28
"""Bytes of a request."""


class _Address(Struct, frozen=True):
    port: int
    token: str

    def connect(self) -> socket.socket:
        connection = socket.create_connection((_HOST, self.port), _CONNECTING)
        connection.settimeout(None)
        return connection


class RequestSender:
    """The command that has sent a request."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def tell(self, answer: Answer) -> None:
        """Answer; a command that has ended is noticed by `waits`."""
        with self._lock, suppress(OSError):
            self._connection.sendall(to_json(answer) + b"\n")

    @property
    def waits(self) -> bool:
        """Whether the command still waits for answers: if it is killed, the system closes its connection."""
        try:
            readable, _, _ = select.select([self._connection], [], [], 0)
            return not readable or bool(self._connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False


Handle = Callable[[Request, RequestSender], DeployFinished]


@contextmanager
def listen_for_requests(target: Target, root: Path, handle: Handle) -> Iterator[None]:
    """Handle the requests of commands, one at a time, each in a thread of its own."""
    address = secrets.token_hex(16)
    with socket.create_server((_HOST, 0)) as server:
        content = to_json(_Address(server.getsockname()[1], address))
        files = [folder / _FILE for folder in _folders(target, root)]
        for file in files:
            make_folder(file.parent)
            replace_file(file, content, mode=0o600)
        ended, requests = threading.Event(), _Requests(handle)
        workers: list[threading.Thread] = []

        def accept() -> None:
            while not ended.is_set():
                with suppress(OSError):
                    connection, _ = server.accept()
                    work = threading.Thread(
                        target=_serve, args=(connection, address, requests), name="handover"
                    )
                    work.start()
                    workers.append(work)

        accepting = threading.Thread(target=accept, name="requests", daemon=True)
        accepting.start()
        try:
            yield
        finally:
            ended.set()
            for file in files:
                file.unlink(missing_ok=True)
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            for worker in workers:
                worker.join()


class _Requests:
    """Handles one request at a time; one whose command has ended is awaited, others are not."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._busy = threading.Lock()
        self._caller: RequestSender | None = None

    def answer(self, request: Request, caller: RequestSender) -> Answer:
        while not self._busy.acquire(timeout=_LOOK):
            if (other := self._caller) is not None and other.waits:
                message, remedy = "another apply to this target is in progress", "wait until it ends"
                return RequestRefused((Diagnostic("MS874", message, None, remedy),))
        try:
            self._caller = caller
            return self._handle(request, caller)
        except MillstreamError as error:
            return RequestRefused(error.diagnostics)
        finally:
            self._caller = None
            self._busy.release()


def _serve(connection: socket.socket, token: str, requests: _Requests) -> None:
    with connection:
        caller = RequestSender(connection)
        try:
            connection.settimeout(_SILENT)
            hello = from_json(_line(connection), Handshake)
            connection.settimeout(None)
        except (OSError, msgspec.DecodeError, ValueError):
            return  # not a command of Millstream
        if not hmac.compare_digest(hello.token, token):
            return
        if hello.millstream != __version__:
            caller.tell(RequestRefused((_other_version(hello.millstream),)))
            return
        caller.tell(requests.answer(hello.request, caller))


def _line(connection: socket.socket) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < _LONGEST:
        part = connection.recv(1 << 16)
        parts.append(part)
        size += len(part)
        if not part or part.endswith(b"\n"):
            return b"".join(parts)
    raise ValueError


def _other_version(version: str) -> Diagnostic:
    message = f"the run is of Millstream {__version__}, this command of {version}"
    return Diagnostic("MS898", message, None, "stop the run, apply the change, and start the run again")


class RunConnection:
    """The run of a target, which answers requests."""

    def __init__(self, folder: Path, address: _Address) -> None:
        self._folder = folder
        self._address = address

    def ask(self, request: Request) -> Iterator[Answer]:
        """Send a request, and yield all answers; raise if the run ends before it has answered."""
        hello = to_json(Handshake(self._address.token, __version__, request)) + b"\n"
        with suppress(OSError), self._address.connect() as connection:
            connection.sendall(hello)
            with connection.makefile("rb") as lines:
                for line in lines:
                    answer: Answer = _ANSWERS.decode(line)
                    yield answer
                    if isinstance(answer, DeployFinished | RequestRefused):
                        return
        if is_locked(self._folder / LOCK):
            message = "the run closed the connection before the apply was complete"
            remedy = "check the output of the run, then repeat this command"
        else:
            message = "the run ended before the apply was complete"
            remedy = "start the run again, which completes a swap that has begun; then repeat this command"
        raise MillstreamError(Diagnostic("MS890", message, None, remedy))


def run_of(target: Target, root: Path) -> RunConnection | None:
    """Return the run of a target, if there is one on this machine that accepts connections."""
    for folder in _folders(target, root):
        if not is_locked(folder / LOCK):
            continue
        with suppress(OSError):
            address = from_json((folder / _FILE).read_bytes(), _Address)
            address.connect().close()
            return RunConnection(folder, address)
    return None


def _folders(target: Target, root: Path) -> Iterable[Path]:
    """Return the folders whose locks a run holds, as far as they are on this machine."""
    yield target_folder(root, target)
    checkpoints = local_path(checkpoints_of(target, root))
    if checkpoints is not None:
        yield checkpoints
