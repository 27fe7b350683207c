"""The settings of every Kafka client of a target: Millstream's own, and those inside Spark.

    read = source_options(cluster, topic.options.get("options", {}))
    session.readStream.format("kafka").options(**revealed(read))

Later settings override earlier ones: defaults of the trigger, the profile's `producer:` or
`consumer:`, a model's `producer` or a source's `options`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millstream.kafka.cluster import Cluster, Options, option_text
from millstream.kafka.security import java_security, librdkafka_security
from millstream.project.kafka_options import java_options
from millstream.project.secrets import Secret

# With Kafka's defaults, a million records of 250 bytes cost 2.3 s of CPU to read and 4.7 s to write; with
# the throughput settings below, 1.6 s and 1.0 s. The producer's may add a tenth of a second to a batch, so
# queries with a latency below a second (`realtime`, `200 milliseconds`) keep Kafka's, and send immediately.
MEGABYTE = 1 << 20
THROUGHPUT_PRODUCER = {
    "linger.ms": "100",
    # With its overhead, a batch is still within a megabyte, which brokers accept by default.
    "batch.size": str(MEGABYTE),
    # Each partition that is written allocates the memory of a batch.
    "buffer.memory": str(64 * MEGABYTE),
}
THROUGHPUT_CONSUMER = {
    "max.poll.records": "20000",
    "max.partition.fetch.bytes": str(8 * MEGABYTE),
}
LATENCY_PRODUCER = {"linger.ms": "0"}
# A consumer asks for more records as soon as it returns some, and the broker keeps that request until there
# are any, for `fetch.max.wait.ms`. It answers the requests of a connection in order, and Spark's next one,
# for the offsets of the partition, waits as long: with Kafka's 500 ms, most of a small batch was this wait.
_WAIT = "fetch.max.wait.ms"
_OF_BATCHES = {_WAIT: "10"}
_OF_REALTIME = {_WAIT: "100"}
COMMITTED = {"isolation.level": "read_committed"}
"""Records of transactions that were aborted, as by a killed `dead-letters replay`, are not read."""

# Users write the names of Kafka's Java clients, which Spark passes on unchanged. Options in neither table
# mean nothing to librdkafka, which Millstream's own clients use (metrics, classes), or something different
# (names of ciphers), and are dropped. `security` handles the options of the connection.
SAME = frozenset((
    "acks", "allow.auto.create.topics", "batch.size", "check.crcs", "client.dns.lookup", "client.id",
    "client.rack", "compression.type", "connections.max.idle.ms", "delivery.timeout.ms", "enable.idempotence",
    "enable.metrics.push", "fetch.max.bytes", "fetch.min.bytes", "heartbeat.interval.ms", "isolation.level",
    "linger.ms", "max.in.flight.requests.per.connection", "max.partition.fetch.bytes", "max.poll.interval.ms",
    "metadata.max.age.ms", "metadata.recovery.strategy", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
    "request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms", "sasl.kerberos.service.name",
    "session.timeout.ms", "socket.connection.setup.timeout.ms",
))  # fmt: skip
RENAMED = {
    "buffer.memory": "queue.buffering.max.kbytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_MINIMUMS = {
    "batch.size": 1,
    "buffer.memory": 1024,
    "max.request.size": 1000,
    "receive.buffer.bytes": 0,
    "send.buffer.bytes": 0,
    "socket.connection.setup.timeout.ms": 1000,
}
"""Minimums of librdkafka that are higher than Java's; 0 is the system's buffer, Java's -1."""

_CLIENT_ID = "millstream"
_TRANSACTION = 30_000
"""Milliseconds after which Kafka aborts the transaction of a process that died."""
_OWN_PRODUCER = {"acks": "all", "delivery.timeout.ms": "30000"}
"""Settings of `produce`: for interactive use, Kafka's default of two minutes without an error is too long."""


def source_options(
    cluster: Cluster, options: Mapping[str, Any] | None = None, trigger: str | None = None
) -> Options:
    """Return the options of Spark's Kafka source; `options` are a source's `options`."""
    defaults = consumer_defaults(trigger or cluster.trigger)
    return _of_spark(cluster, defaults | _client_settings(cluster, "consumer") | dict(options or {}))


def sink_options(
    cluster: Cluster, options: Mapping[str, Any] | None = None, trigger: str | None = None
) -> Options:
    """Return the options of Spark's Kafka sink; `options` are a model's `producer` options."""
    defaults = producer_defaults(trigger or cluster.trigger)
    return _of_spark(cluster, defaults | _client_settings(cluster, "producer") | dict(options or {}))


def _of_spark(cluster: Cluster, options: Mapping[str, Any]) -> Options:
    """Add the prefix `kafka.` to Kafka's options, but not to Spark's."""
    of_kafka = {**java_options("producer"), **java_options("consumer")}
    spark_options: Options = {"kafka.bootstrap.servers": cluster.bootstrap_servers}
    spark_options |= {f"kafka.{name}": value for name, value in java_security(cluster).items()}
    for name, value in options.items():
        full_name = f"kafka.{name}" if name in of_kafka else name
        spark_options[full_name] = value if isinstance(value, Secret) else option_text(value)
    return spark_options


_LARGEST = "1000000000"
"""Of librdkafka."""


def admin_config(cluster: Cluster) -> Options:
    return _of_own(cluster, _client_settings(cluster, "admin"))


def java_admin_config(cluster: Cluster) -> Options:
    """Return the settings of Kafka's own admin client."""
    settings = {
        name: value if isinstance(value, Secret) else option_text(value)
        for name, value in _client_settings(cluster, "admin").items()
    }
    servers: Options = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": _CLIENT_ID}
    return servers | java_security(cluster) | settings


def producer_config(cluster: Cluster, *, live: bool = False, largest: int | None = None) -> Options:
    """Return the settings of `produce`; `live` records are sent immediately.

    No batch is larger than the topics accept (`largest`), since librdkafka doesn't split batches.
    """
    defaults = LATENCY_PRODUCER if live else THROUGHPUT_PRODUCER
    settings = {**defaults, **_OWN_PRODUCER, **_client_settings(cluster, "producer")}
    if largest is not None and largest < MEGABYTE:
        settings["batch.size"] = largest
    config = _of_own(cluster, settings)
    # Choose the same partitions as Java's clients, so that each key stays in one partition.
    return {"partitioner": "murmur2_random", "batch.num.messages": "100000", **config}


def transactional_config(cluster: Cluster, id_: str) -> Options:
    """Return the settings of a producer whose records are all accepted, or none.

    If its process dies, readers of committed records wait for the transaction until Kafka aborts it.
    """
    config = producer_config(cluster, live=True)
    # Kafka must not abort a transaction before a record of it could time out.
    timeout = max(_TRANSACTION, int(option_text(config.get("delivery.timeout.ms", 0))))
    transactional = {"transactional.id": id_, "transaction.timeout.ms": str(timeout)}
    # What a topic has had, it accepts again.
    transactional |= {"message.max.bytes": _LARGEST}
    return {**config, "acks": "all", "enable.idempotence": "true", **transactional}


def consumer_config(cluster: Cluster) -> Options:
    """Return the settings of `consume`, which doesn't join a consumer group."""
    config = _of_own(cluster, _client_settings(cluster, "consumer"))
    return {
        **config,
        "isolation.level": "read_committed",
        "group.id": f"{_CLIENT_ID}-consume",
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "enable.partition.eof": "true",
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": "false",
    }


def _of_own(cluster: Cluster, settings: Mapping[str, Any]) -> Options:
    servers: Options = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": _CLIENT_ID}
    return servers | librdkafka_security(cluster) | translate_options(settings)


def _client_settings(cluster: Cluster, client: str) -> dict[str, Any]:
    return dict(cluster.settings.get(client) or {})


def translate_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Return Java's options under librdkafka's names."""
    translated: dict[str, str] = {}
    for name, value in options.items():
        if name in SAME or name in RENAMED:
            translated[RENAMED.get(name, name)] = _convert(name, option_text(value))
    return translated


def _convert(name: str, value: str) -> str:
    if name not in _MINIMUMS or not value.lstrip("-").isdecimal():
        return value
    number = max(_MINIMUMS[name], int(value))
    return str(number // 1024 if name == "buffer.memory" else number)


def producer_defaults(trigger: str | None) -> dict[str, str]:
    return LATENCY_PRODUCER if is_quick(trigger) else THROUGHPUT_PRODUCER


def consumer_defaults(trigger: str | None) -> dict[str, str]:
    if trigger == "realtime":
        return COMMITTED | _OF_REALTIME
    return COMMITTED | _OF_BATCHES | ({} if is_quick(trigger) else THROUGHPUT_CONSUMER)


def is_quick(trigger: str | None) -> bool:
    """Whether a query's latency should be below a second."""
    if trigger == "realtime":
        return True
    interval = re.fullmatch(r"(\d+(?:\.\d+)?) (millisecond|second)s?", trigger or "")
    return interval is not None and float(interval[1]) * (0.001 if interval[2] == "millisecond" else 1) < 1
