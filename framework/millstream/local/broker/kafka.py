"""Kafka as a server of this machine: its settings, and the command that starts it."""

from __future__ import annotations

import base64
import contextlib
import os
import shlex
import uuid

from millstream.local.archive import archive_for
from millstream.local.broker.answer import answers
from millstream.local.broker.settings import LOGGING, server_properties
from millstream.local.jars import Progress, fetch
from millstream.local.java import java
from millstream.local.server.class_archive import archive_options
from millstream.local.server.folder import ServerFolder
from millstream.local.server.program import Installed, Launch, Ports, Program
from millstream.project.folders import broker_folder

FEATURE = "broker"
FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-Xms64m")
FORMAT = ("kafka.tools.StorageTool", "format")


def _install(progress: Progress | None) -> Installed:
    return java(), fetch([FEATURE], progress)[FEATURE]


def _launch(folder: ServerFolder, installed: Installed, ports: Ports) -> Launch:
    java_, jars = installed
    formatted = _cluster(folder)
    cluster = formatted or new_cluster()
    archive = archive_for("broker", java_, jars)
    properties = folder.path / "server.properties"
    properties.write_text(server_properties(*ports), encoding="ascii")
    (folder.path / "log4j2.properties").write_text(LOGGING, encoding="ascii")
    jvm = (str(java_.program), *FLAGS, "-cp", os.pathsep.join(map(str, jars)))
    command = (*jvm, "-Dlog4j2.configurationFile=log4j2.properties")
    server = shlex.join((*command, *archive_options(archive), "kafka.Kafka", str(properties)))
    format_ = shlex.join((*command, *FORMAT, "-t", cluster, "-c", properties.name))
    return Launch(f"exec {server}" if formatted else f"{format_} && exec {server}", cluster, archive, jvm)


def _cluster(folder: ServerFolder) -> str | None:
    """Return the cluster id of the formatted data; Kafka writes this file last."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in (folder.data / "meta.properties").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            if name == "cluster.id":
                return value
    return None


def new_cluster() -> str:
    """Return an id like Kafka's: 16 bytes in base64, which never looks like a command line option."""
    return "K" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]


KAFKA = Program(
    name="broker",
    title="the local broker",
    folder_in=broker_folder,
    install=_install,
    launch=_launch,
    answers=answers,
    started="Kafka Server started",
    ended_code="MS811",
    silent_code="MS812",
)
