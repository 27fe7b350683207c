"""`millstream broker`."""

from __future__ import annotations

from typing import Literal

import click
from msgspec import to_builtins

from millstream.broker import broker_status, keep_broker, stop_broker
from millstream.cli.jar_progress import fetching
from millstream.cli.options import Common, cli_command
from millstream.cli.output import finish
from millstream.cli.project import root_of
from millstream.machine.server.shared import Status

_STOPPED = {
    "stopped": "the broker is stopped",
    "not running": "the broker is not running",
    "in use": "the broker is in use, and stops when the last command that uses it ends; --force stops it now",
}


@cli_command(
    "broker", "millstream broker start", "millstream broker status --output json", "millstream broker stop"
)
@click.argument("action", type=click.Choice(("start", "stop", "status")))
@click.option("--force", is_flag=True, help="With stop: even if another command is using it.")
def command(common: Common, *, action: Literal["start", "stop", "status"], force: bool) -> int:
    """Start, stop or inspect the project's local Kafka broker.

    Commands that need the local broker start it, share it, and stop it when the last one ends. `start` keeps
    it running until `stop`, for other tools or to start commands faster. Its topics are stored in
    `.millstream/broker` and survive restarts.
    """
    root = root_of(common)
    text = ""
    match action:
        case "start":
            with fetching(common.style) as progress:
                keep_broker(root, progress)
        case "stop":
            text = _STOPPED[stop_broker(root, force=force)]
        case "status":
            pass
    status = broker_status(root)
    return finish(
        common.style, result={"broker": to_builtins(status, enc_hook=str)}, text=text or text_of(status)
    )


def text_of(status: Status) -> str:
    if status.state == "stopped":
        return "the broker is not running"
    ends = "until it is stopped" if status.kept else "until the last command that uses it ends"
    used = "in use" if status.used else "idle"
    return "\n".join(
        (
            f"{status.state} at {status.address} (process {status.pid}), {used}, {ends}",
            f"topics and log in {status.folder}",
        )
    )
