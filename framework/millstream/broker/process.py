"""Starts, checks and stops the broker's process. All functions except `is_alive` require the start lock."""

from __future__ import annotations

import base64
import contextlib
import os
import shlex
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from millstream.broker.log import has_started
from millstream.broker.place import BrokerFolder
from millstream.broker.settings import LOGGING, server_properties
from millstream.broker.state import State, read_pid, read_state, write_state
from millstream.errors import Diagnostic, MillstreamError
from millstream.machine.archive import archive_for, drop, keep
from millstream.machine.java import Java
from millstream.machine.locks import is_locked, lock, opened

FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-Xms64m")
FORMAT = ("kafka.tools.StorageTool", "format")
_PATIENCE = 15.0
"""Seconds for a broker to stop by itself; it usually takes 0.2."""
_AGAIN = 0.5


def is_alive(folder: BrokerFolder) -> bool:
    return is_locked(folder.broker_lock)


def launch(
    folder: BrokerFolder, java: Java, jars: Sequence[Path], *, kept: bool = False, tries: int = 1
) -> State:
    """Start the process and return immediately.

    A shell starts it in the background and writes its id, so that the file is correct even if this process is
    killed meanwhile. The broker is not a child of this process, which doesn't need to wait for its end.
    """
    before = read_state(folder)
    folder.log.parent.mkdir(parents=True, exist_ok=True)
    if folder.log.exists():
        folder.log.replace(folder.log.with_name("broker.log.1"))
    folder.pid.unlink(missing_ok=True)
    # Reuse the last port, for tools that were configured with it, unless that port just failed.
    ports = _free_ports(before.port if before and tries == 1 else 0)
    cluster = _cluster(folder)
    if before and before.archive:
        drop(before.archive)
    archive = archive_for("broker", java, jars)
    state = State(ports[0], cluster or _new_cluster(), kept, tries, archive)
    properties = folder.path / "server.properties"
    properties.write_text(server_properties(*ports), encoding="ascii")
    (folder.path / "log4j2.properties").write_text(LOGGING, encoding="ascii")
    write_state(folder, state)
    program = str(java.program)
    command = (
        *FLAGS,
        "-Dlog4j2.configurationFile=log4j2.properties",
        "-cp",
        os.pathsep.join(map(str, jars)),
    )
    flags = (archive.flag,) if archive else ()
    server = shlex.join((program, *flags, *command, "kafka.Kafka", str(properties)))
    format_ = shlex.join((program, *command, *FORMAT, "-t", state.cluster, "-c", properties.name))
    steps = f"exec {server}" if cluster else f"{format_} && exec {server}"
    _spawn(folder, f"{{ {steps}; }} & echo $! > {folder.pid.name}")
    return state


def _spawn(folder: BrokerFolder, script: str) -> None:
    with opened(folder.broker_lock) as handle, folder.log.open("ab") as log:
        # Another process may hold the lock for a moment to check whether the broker is alive.
        lock(handle, _PATIENCE)
        subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", script],
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(handle,),
            start_new_session=True,  # Ctrl-C in a terminal must not stop the broker
            check=True,
        )


def _cluster(folder: BrokerFolder) -> str | None:
    """Return the cluster id of the formatted data; Kafka writes this file last."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in (folder.data / "meta.properties").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            if name == "cluster.id":
                return value
    return None


def _new_cluster() -> str:
    """Return an id like Kafka's: 16 bytes in base64, which never looks like a command line option."""
    return "K" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]


def _free_ports(preferred: int) -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        # As Java does, to ignore lingering connections of the last broker.
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            first.bind(("127.0.0.1", preferred))
        except OSError:
            first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def stop(folder: BrokerFolder) -> bool:
    """Stop the broker and wait for its end; return whether it was running."""
    if not is_alive(folder):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        if _end_by(folder, number):
            folder.pid.unlink(missing_ok=True)
            _keep_archive(folder, complete=number == signal.SIGTERM)
            return True
    remedy = "end that process, or the container that it runs in"
    message = f"the broker of {folder.path} can't be stopped (process {read_pid(folder) or 'unknown'})"
    raise MillstreamError(Diagnostic("MS815", message, None, remedy))


def _keep_archive(folder: BrokerFolder, *, complete: bool) -> None:
    """Keep the class archive if the broker was ready to serve: then it has loaded all its classes."""
    state = read_state(folder)
    if state and state.archive and state.archive.written:
        if complete and has_started(folder):
            keep(state.archive)
        else:
            drop(state.archive)


def _end_by(folder: BrokerFolder, number: signal.Signals) -> bool:
    """Repeat a signal until it works: just after its start, a process may miss it or not be recognised."""
    start = sent = time.monotonic()
    _signal(folder, number)
    while is_alive(folder):
        now = time.monotonic()
        if now - start > _PATIENCE:
            return False
        if now - sent > _AGAIN:
            _signal(folder, number)
            sent = now
        time.sleep(0.01)
    return True


def _signal(folder: BrokerFolder, number: signal.Signals) -> None:
    """Send a signal to the process in the pid file, if it is certainly the broker.

    The lock shows that the broker lives and that the file is about it. But if containers share the folder,
    the id may belong to another process.
    """
    pid = read_pid(folder)
    if pid is not None and str(folder.path) in _command_line(pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _command_line(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            return ""
    listed = subprocess.run(  # noqa: S603
        ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout
