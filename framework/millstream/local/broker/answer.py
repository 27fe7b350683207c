"""Checks whether a broker answers, and that it is the expected cluster."""

from __future__ import annotations

import logging
import socket

from millstream.local.server.state import State

_SILENT = logging.getLogger("millstream.local.broker.answer")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def answers(state: State, seconds: float = 2.0) -> bool:
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
