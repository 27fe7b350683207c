"""A Kafka broker on this machine, which commands start and share."""

from millstream.broker.shared import (
    Broker,
    Starting,
    Status,
    broker_status,
    keep_broker,
    revive,
    shared_broker,
    stop_broker,
)

__all__ = [
    "Broker",
    "Starting",
    "Status",
    "broker_status",
    "keep_broker",
    "revive",
    "shared_broker",
    "stop_broker",
]
