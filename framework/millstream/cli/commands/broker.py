"""`millstream broker`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click
from msgspec import to_builtins

from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_result
from millstream.cli.project import root_of
from millstream.cli.topic_schemas import topic_schemas
from millstream.kafka.registry.local import keep_registry, registry_status, registry_url, stop_registry
from millstream.kafka.registry.target import has_local_registry
from millstream.local.broker import broker_status, keep_broker, stop_broker
from millstream.local.jars import Progress
from millstream.local.server.shared import ServerStatus

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
def command(common: CommonOptions, *, action: Literal["start", "stop", "status"], force: bool) -> int:
    """Start, stop or inspect the project's local Kafka broker.

    Commands that need the local broker start it, share it, and stop it when the last one ends. `start` keeps
    it running until `stop`, for other tools or to start commands faster. Its topics are stored in
    `.millstream/broker` and survive restarts. If a topic has `schema: registry` and the target has no
    `schema_registry`, `start` also starts a local registry, and `stop` stops it.
    """
    root = root_of(common)
    text = ""
    match action:
        case "start":
            with jar_progress(common.style) as progress:
                keep_broker(root, progress)
                _keep_registry(common, root, progress)
        case "stop":
            stop_registry(root, force=force)
            text = _STOPPED[stop_broker(root, force=force)]
        case "status":
            pass
    broker, registry = broker_status(root), registry_status(root)
    result = {"broker": as_data(broker), "registry": as_data(registry)}
    return print_result(common.style, result=result, text=text or text_of(broker, registry))


def _keep_registry(common: CommonOptions, root: Path, progress: Progress | None) -> None:
    schemas = topic_schemas(common, root)
    if schemas.uses and has_local_registry(schemas.target):
        keep_registry(root, schemas.pins, progress)


def as_data(status: ServerStatus) -> dict[str, Any]:
    fields: dict[str, Any] = to_builtins(status, enc_hook=str)
    address = fields.pop("address")
    if status.log.name.startswith("registry"):
        return {"state": fields.pop("state"), "url": address and registry_url(address), **fields}
    return {"state": fields.pop("state"), "bootstrap_servers": address, **fields}


def text_of(broker: ServerStatus, registry: ServerStatus) -> str:
    lines = ["the broker is not running"]
    if broker.state != "stopped":
        lines = [_running(broker, str(broker.address)), f"topics and log in {broker.folder}"]
    if registry.state != "stopped":
        lines.append(f"schema registry {_running(registry, registry_url(str(registry.address)))}")
    return "\n".join(lines)


def _running(status: ServerStatus, address: str) -> str:
    ends = "until it is stopped" if status.keeps_running else "until the last command that uses it ends"
    used = "in use" if status.used else "idle"
    return f"{status.state} at {address} (process {status.pid}), {used}, {ends}"
