"""Apicurio Registry as a server of this machine: its files, its settings, and the command that starts it."""

from __future__ import annotations

import json
import secrets
import shlex
import shutil
import tarfile
import tempfile
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

from millstream.core.errors import Diagnostic, MillstreamError, reporting_os_errors
from millstream.local.jars import Progress, cache_folder, fetch_jars
from millstream.local.java import JavaInstallation, find_java, newest_java
from millstream.local.server.folder import ServerFolder
from millstream.local.server.program import Installed, Launch, Ports, ServerProgram
from millstream.local.server.state import ServerState
from millstream.project.folders import broker_folder

FEATURE = "registry"
OLDEST = 21
VERSION = "3.3.3"
"""The version in the catalog of jars, which exports name too."""
API = "/apis/ccompat/v7"
"""The path of Confluent's API."""
_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
_MAIN = "quarkus-run.jar"
_SECONDS = 2.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens addresses of this machine, without a proxy of the environment."""


def _install(progress: Progress | None) -> Installed:
    runtime = _java()
    (archive,) = fetch_jars([FEATURE], progress)[FEATURE]
    return runtime, (_unpacked(archive) / _MAIN,)


def _java() -> JavaInstallation:
    runtime = newest_java(OLDEST)
    if runtime is None:
        message = f"the local schema registry needs Java {OLDEST} or newer; found {find_java().version}"
        remedy = (
            f"install Java {OLDEST} or newer next to it, for example from https://adoptium.net, or add "
            "schema_registry: to the target; pinned schemas need neither"
        )
        raise MillstreamError(Diagnostic("MS816", message, None, remedy))
    return runtime


def _unpacked(archive: Path) -> Path:
    """Return the folder with the archive's content, which gets its name once it is complete."""
    folder = cache_folder() / "servers" / archive.name.removesuffix(".tar.gz")
    if folder.is_dir():
        return folder
    with reporting_os_errors(
        "MS807", f"{archive.name} can't be unpacked into {folder.parent}", "make it writable, or free space"
    ):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
        try:
            # Older versions of Python have no filters; the checksum of the archive is known.
            options: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            with tarfile.open(archive) as content:
                content.extractall(temporary, **options)  # noqa: S202
            with suppress(OSError):  # another command was faster
                temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _launch(folder: ServerFolder, installed: Installed, ports: Ports) -> Launch:
    java_, (main,) = installed
    identity = f"millstream-{secrets.token_hex(8)}"
    config = folder.path / "config"
    config.mkdir(exist_ok=True)
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": ports[0],
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": ports[1],
        "quarkus.http.access-log.enabled": "false",
        "quarkus.banner.enabled": "false",
        # Ids must survive restarts, as the records of the local broker do. By default, H2 writes half a
        # second later, and a killed registry would give the ids of records to other schemas.
        "apicurio.datasource.url": "jdbc:h2:file:./data/registry;WRITE_DELAY=0",
        "apicurio.datasource.jdbc.initial-size": 1,
        "apicurio.datasource.jdbc.min-size": 1,
        "apicurio.datasource.jdbc.max-size": 8,
        "apicurio.app.name": identity,
        # As in Confluent's registry.
        "apicurio.rules.global.compatibility": "BACKWARD",
        "apicurio.ccompat.max-subjects": 100_000,
    }
    (config / "application.properties").write_text(
        "".join(f"{name}={value}\n" for name, value in settings.items()), encoding="ascii"
    )
    # The folder is named so that the process can be recognised.
    command = (*_FLAGS, f"-Dmillstream.folder={folder.path}", "-jar", str(main))
    return Launch(f"exec {shlex.join((str(java_.program), *command))}", identity)


def _answers(state: ServerState) -> bool:
    try:
        with DIRECT.open(f"http://{state.address}/apis/registry/v3/system/info", timeout=_SECONDS) as answer:
            name = str(json.load(answer)["name"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return False
    return name.startswith(state.identity)


APICURIO = ServerProgram(
    name="registry",
    title="the local schema registry",
    folder_in=lambda root: broker_folder(root) / "registry",
    install=_install,
    launch=_launch,
    answers=_answers,
    started="Listening on",
    ended_code="MS817",
    silent_code="MS818",
)
