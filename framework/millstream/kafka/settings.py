"""The settings of every Kafka client of a target: Millstream's own, and those inside Spark.

    read = source_options(cluster, topic.options.get("options", {}))
    session.readStream.format("kafka").options(**revealed(read))

Later settings override earlier ones: defaults of the trigger (`tuning`), the profile's `producer:` or
`consumer:`, a model's `producer` or a source's `options`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.kafka.cluster import Cluster, Options, text
from millstream.kafka.names import translate_options
from millstream.kafka.security import java_security, librdkafka_security
from millstream.kafka.tuning import (
    LATENCY_PRODUCER,
    MEGABYTE,
    THROUGHPUT_PRODUCER,
    consumer_defaults,
    producer_defaults,
)
from millstream.project.kafka_options import java_options
from millstream.project.secrets import Secret

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
        spark_options[full_name] = value if isinstance(value, Secret) else text(value)
    return spark_options


_LARGEST = "1000000000"
"""Of librdkafka."""


def admin_config(cluster: Cluster) -> Options:
    return _of_own(cluster, _client_settings(cluster, "admin"))


def java_admin_config(cluster: Cluster) -> Options:
    """Return the settings of Kafka's own admin client."""
    settings = {
        name: value if isinstance(value, Secret) else text(value)
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
    timeout = max(_TRANSACTION, int(text(config.get("delivery.timeout.ms", 0))))
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
