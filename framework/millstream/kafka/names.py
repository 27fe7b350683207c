"""Translates options of Kafka's Java clients to librdkafka, which Millstream's own clients use.

Users write Java's names, which Spark passes on unchanged. Options in neither table mean nothing to librdkafka
(metrics, classes) or something different (names of ciphers), and are dropped. `security` handles the options
of the connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.kafka.cluster import text

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


def translate_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Return Java's options under librdkafka's names."""
    translated: dict[str, str] = {}
    for name, value in options.items():
        if name in SAME or name in RENAMED:
            translated[RENAMED.get(name, name)] = _convert(name, text(value))
    return translated


def _convert(name: str, value: str) -> str:
    if name not in _MINIMUMS or not value.lstrip("-").isdecimal():
        return value
    number = max(_MINIMUMS[name], int(value))
    return str(number // 1024 if name == "buffer.memory" else number)
