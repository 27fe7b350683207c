"""Kafka's settings: a single process for development, only reachable from this machine."""

from __future__ import annotations

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


def server_properties(port: int, controller_port: int) -> str:
    settings = SERVER | {
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
