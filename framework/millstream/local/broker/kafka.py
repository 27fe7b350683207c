"""Kafka as a server of this machine: its settings, and the command that starts it."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import shlex
import socket
import uuid

from millstream.local.archive import archive_for
from millstream.local.jars import Progress, fetch_jars
from millstream.local.java import find_java
from millstream.local.server.class_archive import archive_options
from millstream.local.server.folder import ServerFolder
from millstream.local.server.program import Installed, Launch, Ports, ServerProgram
from millstream.local.server.state import ServerState
from millstream.project.folders import broker_folder

SERVER = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    # Relative to its working folder, since Kafka reads a comma in a path as a separator.
    "log.dirs": "data",
    # A single broker has a single replica. One partition of an internal topic starts faster than fifty.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # A misspelt topic is an error, as on clusters with managed topics.
    "auto.create.topics.enable": "false",
    # Tomorrow's build can still read today's records and its own offsets.
    "log.retention.ms": "-1",
    "offsets.retention.minutes": "5256000",
    # A killed broker can only restart once its old session has expired; the default is nine seconds.
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "1000",
    # The default needs a quarter of the heap, which is too much for a few small topics.
    "log.cleaner.dedupe.buffer.size": "16777216",
    "log.preallocate": "false",
    "num.network.threads": "2",
    "num.io.threads": "4",
}
LOGGING = """\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = logs/broker.log
appender.file.filePattern = logs/broker.log.%i
appender.file.policy.type = SizeBasedTriggeringPolicy
appender.file.policy.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{ISO8601} %p %c{1} - %m%n
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
# Hundreds of lines of settings at each start.
logger.settings.name = org.apache.kafka.common.config.AbstractConfig
logger.settings.level = warn
logger.server.name = kafka.server.KafkaConfig
logger.server.level = warn
"""

_SILENT = logging.getLogger("millstream.local.broker.answer")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def broker_answers(state: ServerState, seconds: float = 2.0) -> bool:
    """Whether this cluster answers; Kafka opens its port once it is ready."""
    try:
        socket.create_connection(("127.0.0.1", state.port), seconds).close()
    except OSError:
        return False
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": state.address}, logger=_SILENT)
    try:
        metadata = client.list_topics(timeout=seconds)
    except KafkaException:
        return False
    return bool(metadata.brokers) and metadata.cluster_id == state.identity


FEATURE = "broker"
FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-Xms64m")
FORMAT = ("kafka.tools.StorageTool", "format")


def _install(progress: Progress | None) -> Installed:
    return find_java(), fetch_jars([FEATURE], progress)[FEATURE]


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


KAFKA = ServerProgram(
    name="broker",
    title="the local broker",
    folder_in=broker_folder,
    install=_install,
    launch=_launch,
    answers=broker_answers,
    started="Kafka Server started",
    ended_code="MS811",
    silent_code="MS812",
)


def server_properties(port: int, controller_port: int) -> str:
    settings = SERVER | {
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
