"""`millstream session`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from millstream.cli.diagnostics import count_of
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.cli.project import root_of
from millstream.local.warm_session.client import ask_session, connect, stop_session

_STOPPED = {
    True: "the session is stopped",
    False: "a command is using the session: it was not stopped",
    None: "there is no session",
}


@cli_command("session", "millstream session status", "millstream session stop")
@click.argument("action", type=click.Choice(("status", "stop")))
def command(common: CommonOptions, *, action: Literal["status", "stop"]) -> int:
    """Show or stop the process that keeps Spark ready for the next command.

    The first command that needs Spark on this machine leaves it running in the background, so that later
    commands of the project start in less than a second. It ends by itself after some minutes without
    commands (`session-minutes` in [tool.millstream]).
    """
    root = root_of(common)
    if action == "stop":
        stopped = stop_session(root)
        code = print_result(common.style, result={"stopped": stopped is True}, text=_STOPPED[stopped])
        return code or int(stopped is False)
    status = _status(root)
    return print_result(common.style, result={"session": status}, text=_text(status))


def _status(root: Path) -> dict[str, Any] | None:
    if (connection := connect(root)) is None:
        return None
    with connection:
        return ask_session(connection, {"kind": "status"})


def _text(status: dict[str, Any] | None) -> str:
    if status is None:
        return "there is no session"
    lines = [f"the session is {status['state']} (process {status['process']}), {status['memory_mib']} MiB"]
    if status["ends_in_seconds"] is not None:
        lines.append(f"it ends in {status['ends_in_seconds']} s, if no command uses it")
    if jvm := status["jvm"]:
        lines.append(f"Spark: process {jvm['process']}, used by {count_of(jvm['commands'], 'command')}")
    return "\n".join(lines)
