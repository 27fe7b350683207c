"""What Kafka is told: one process, this machine only, made for development."""

from __future__ import annotations

SERVER = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    # Relative to the folder that it runs in: Kafka takes a comma in a path for a second folder.
    "log.dirs": "data",
    # One broker: one replica. One partition of an internal topic is made faster than fifty.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # A misspelt topic is an error, as it is where topics are made by others.
    "auto.create.topics.enable": "false",
    # Tomorrow's build still sees today's events, and knows how far it read them.
    "log.retention.ms": "-1",
    "offsets.retention.minutes": "5256000",
    # A broker that was killed may come back when its old session is over: not after nine seconds.
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "1000",
    # The default takes a quarter of the heap, for a few small topics.
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
