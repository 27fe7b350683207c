"""The process of a warm session: `local/warm_session/lease.py` starts it.

Until it can be reached, it imports little; what commands need is imported when it has nothing else to do.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn, TextIO

from millstream.local.locks import try_lock
from millstream.local.server.program import ServerProgram
from millstream.local.server.used import UsedServers
from millstream.local.warm_session.address import SessionAddress
from millstream.local.warm_session.server import ForkedCommand, Hooks, SessionServer, open_listener

_PACKAGES = frozenset(
    {
        "millstream", "click", "confluent_kafka", "google", "jinja2", "markupsafe", "msgspec", "numpy",
        "packaging", "pandas", "platformdirs", "pluggy", "py4j", "pyarrow", "pygments", "pyspark", "pytest",
        "_pytest", "pytz", "dateutil", "rich", "sqlglot", "sqlglotc", "yaml",
    }
)  # fmt: skip
"""What is imported before commands need it: Millstream and what it stands on, which starts nothing."""


def main() -> NoReturn:
    root, folder, name, identity, seconds = sys.argv[1:]
    del sys.path[0]  # the current folder, from which a project's own modules would be imported
    os.umask(0o077)
    address = SessionAddress(Path(folder), name)
    try:
        address.make_folder()
    except OSError as error:
        sys.exit(f"no session: {error}")
    lock = os.open(address.lock, os.O_RDWR | os.O_CREAT, 0o600)
    if (
        not try_lock(lock)
        or not address.lock.exists()
        or not os.path.samestat(os.fstat(lock), address.lock.stat())
    ):
        sys.exit(0)  # another command has just started one, or that one ends
    listener = open_listener(address.socket)
    if os.fork():
        os._exit(0)  # it can be reached: the command that started this goes on
    os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    servers = UsedServers(Path(root), _program_of)
    forked = SessionServer(
        listener, identity, float(seconds), Hooks(_import_module, servers.keep, servers.leave)
    ).serve()
    if forked is None:
        servers.leave_all()
        address.socket.unlink(missing_ok=True)
        address.lock.unlink(missing_ok=True)
        sys.exit(0)
    os.close(lock)
    servers.forget()
    _run(forked)


def _program_of(name: str) -> ServerProgram:
    from millstream.kafka.registry.local.apicurio import APICURIO
    from millstream.local.broker.kafka import KAFKA

    return {program.name: program for program in (KAFKA, APICURIO)}[name]


def _import_module(name: str) -> None:
    """Import a module that another command has imported, unless it is of a project or may start threads."""
    top = name.partition(".")[0]
    if top in _PACKAGES or top in sys.stdlib_module_names:
        with contextlib.suppress(ImportError):
            import_module(name)


def _run(command: ForkedCommand) -> NoReturn:
    """Run a command in this forked process, as if it had been started."""
    gc.freeze()  # what the session has imported is never garbage, and stays shared with it
    os.setsid()
    *streams, folder = command.files
    for number, file in enumerate(streams):
        os.dup2(file, number)
        os.close(file)
    os.fchdir(folder)
    os.close(folder)
    os.umask(command.umask)
    os.environ.clear()
    os.environ.update(command.environment)
    _restore_signals(command.ignored)
    sys.argv = [command.program, *command.arguments]
    sys.path.insert(0, command.import_folder)
    sys.stdin = open(0, encoding=sys.stdin.encoding, closefd=False)  # noqa: SIM115 - until the process ends
    sys.stdout, sys.stderr = _output_to(1, sys.stdout), _output_to(2, sys.stderr)
    from millstream.__main__ import run_here

    run_here()


def _output_to(number: int, like: TextIO) -> TextIO:
    """Return what writes as Python's own stream does, to the open file that the client has."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(
        open(number, "wb", buffering=0 if unbuffered else -1, closefd=False),
        encoding=like.encoding,
        errors=like.errors,
        line_buffering=number == 2 or os.isatty(number),
        write_through=unbuffered,
    )


def _restore_signals(ignored: list[int]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    if signal.SIGINT not in ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
