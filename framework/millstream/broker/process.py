"""The broker's process: started, asked and stopped. All but `is_alive` want the start lock to be held."""

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
"""Seconds that a broker gets to stop by itself; it takes 0.2."""
_AGAIN = 0.5


def is_alive(place: BrokerFolder) -> bool:
    return is_locked(place.broker_lock)


def launch(
    place: BrokerFolder, java: Java, jars: Sequence[Path], *, kept: bool = False, tries: int = 1
) -> State:
    """Start the process and return at once.

    A shell puts it into the background and writes its id, so that even if this process is killed meanwhile,
    the file tells the truth; and it is nobody's child, so that nobody needs to wait for its end.
    """
    before = read_state(place)
    place.log.parent.mkdir(parents=True, exist_ok=True)
    if place.log.exists():
        place.log.replace(place.log.with_name("broker.log.1"))
    place.pid.unlink(missing_ok=True)
    # The port of the last time, for tools that were pointed at it; not if just that one failed.
    ports = _free_ports(before.port if before and tries == 1 else 0)
    cluster = _cluster(place)
    if before and before.archive:
        drop(before.archive)
    archive = archive_for("broker", java, jars)
    state = State(ports[0], cluster or _new_cluster(), kept, tries, archive)
    properties = place.folder / "server.properties"
    properties.write_text(server_properties(*ports), encoding="ascii")
    (place.folder / "log4j2.properties").write_text(LOGGING, encoding="ascii")
    write_state(place, state)
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
    _spawn(place, f"{{ {steps}; }} & echo $! > {place.pid.name}")
    return state


def _spawn(place: BrokerFolder, script: str) -> None:
    with opened(place.broker_lock) as held, place.log.open("ab") as log:
        # Waits out who is just asking whether the broker is alive.
        lock(held, _PATIENCE)
        subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", script],
            cwd=place.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(held,),
            start_new_session=True,  # Ctrl-C in a terminal is not meant for the broker
            check=True,
        )


def _cluster(place: BrokerFolder) -> str | None:
    """Return the id that the data was formatted with; Kafka writes this file last."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in (place.data / "meta.properties").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            if name == "cluster.id":
                return value
    return None


def _new_cluster() -> str:
    """Return an id as Kafka makes them: 16 bytes in base64, never like an option of a command line."""
    return "K" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]


def _free_ports(wanted: int) -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        # As Java does, so that connections of the last broker that linger don't count.
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            first.bind(("127.0.0.1", wanted))
        except OSError:
            first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def stop(place: BrokerFolder) -> bool:
    """Stop the broker and wait for its end; tell if there was one to stop."""
    if not is_alive(place):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        if _end(place, number):
            place.pid.unlink(missing_ok=True)
            _keep_archive(place, whole=number == signal.SIGTERM)
            return True
    remedy = "end that process, or the container that it runs in"
    message = f"the broker of {place.folder} can't be stopped (process {read_pid(place) or 'unknown'})"
    raise MillstreamError(Diagnostic("MS815", message, None, remedy))


def _keep_archive(place: BrokerFolder, *, whole: bool) -> None:
    """Keep the archive of a broker that came as far as to serve: it has loaded what it takes."""
    state = read_state(place)
    if state and state.archive and state.archive.written:
        if whole and has_started(place):
            keep(state.archive)
        else:
            drop(state.archive)


def _end(place: BrokerFolder, number: signal.Signals) -> bool:
    """Send a signal until it works: in its first moments, a process may miss it or hide what it is."""
    start = sent = time.monotonic()
    _signal(place, number)
    while is_alive(place):
        now = time.monotonic()
        if now - start > _PATIENCE:
            return False
        if now - sent > _AGAIN:
            _signal(place, number)
            sent = now
        time.sleep(0.01)
    return True


def _signal(place: BrokerFolder, number: signal.Signals) -> None:
    """Send a signal to the process that the file names, if that is surely the broker.

    The lock says that the broker lives and that the file was written for it. What is left is a folder that
    containers share: there the id may be that of another process.
    """
    pid = read_pid(place)
    if pid is not None and str(place.folder) in _command_line(pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _command_line(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            return ""
    said = subprocess.run(  # noqa: S603
        ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return said.stdout
