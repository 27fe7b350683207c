"""Kafka clients that don't log; their errors are collected and reported once."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ClusterMetadata  # type: ignore[attr-defined]
from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.cluster import Cluster, Value, reveal_options
from millstream.kafka.failures import cluster_error, error_text, is_authentication, login_error, silence_error
from millstream.kafka.settings import (
    admin_config,
    consumer_config,
    producer_config,
    transactional_config,
)

CONNECT = 5.0
"""Seconds for the first answer of a cluster."""
PATIENCE = 30.0
"""Seconds for any later answer, as many as Kafka's own clients wait: a busy machine may need them."""

_SILENT = logging.getLogger("millstream.kafka.clients")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

Client = TypeVar("Client", AdminClient, Consumer, Producer)


ClientErrors = deque[KafkaError]
"""The last errors that a client reported."""


class Admin(Struct, frozen=True, eq=False):
    """A connected admin client."""

    cluster: Cluster
    client: AdminClient
    errors: ClientErrors

    def metadata(self) -> ClusterMetadata:
        try:
            return self.client.list_topics(timeout=PATIENCE)
        except KafkaException as error:
            raise self.failure(error, "listing topics") from None

    def failure(self, error: KafkaException, doing: str) -> MillstreamError:
        self.client.poll(0)
        return cluster_error(self.cluster, error.args[0], doing, self.errors)


def admin_of(cluster: Cluster) -> Admin:
    """Connect to a cluster, or raise the reason within seconds if that fails."""
    client, errors = _client(cluster, AdminClient, admin_config(cluster))
    deadline = time.monotonic() + CONNECT
    while True:
        try:
            client.list_topics(timeout=0.5)
        except KafkaException as error:
            client.poll(0)
            refused = next(filter(is_authentication, [error.args[0], *errors]), None)
            if refused is not None:
                raise login_error(cluster, refused) from None
            if time.monotonic() > deadline:
                raise silence_error(cluster, errors or [error.args[0]]) from None
        else:
            return Admin(cluster, client, errors)


def producer_of(
    cluster: Cluster,
    on_failure: Callable[[KafkaError, Any], None],
    *,
    live: bool = False,
    largest: int | None = None,
) -> tuple[Producer, ClientErrors]:
    """Return a producer; `on_failure` is only called for records that were not accepted."""
    more = {"on_delivery": on_failure, "delivery.report.only.error": True}
    return _client(cluster, Producer, producer_config(cluster, live=live, largest=largest), more)


def transactional_producer_of(cluster: Cluster, id_: str) -> tuple[Producer, ClientErrors]:
    return _client(cluster, Producer, transactional_config(cluster, id_))


def consumer_of(cluster: Cluster) -> tuple[Consumer, ClientErrors]:
    return _client(cluster, Consumer, consumer_config(cluster))


def _client(
    cluster: Cluster,
    kind: type[Client],
    options: Mapping[str, Value],
    more: Mapping[str, Any] | None = None,
) -> tuple[Client, ClientErrors]:
    errors = ClientErrors(maxlen=20)
    try:
        settings: dict[str, Any] = {**reveal_options(options), "error_cb": errors.append, **(more or {})}
        return kind(settings, logger=_SILENT), errors
    except KafkaException as error:
        remedy = "fix it in profiles.yml, under kafka:"
        message = f"can't create a Kafka client: {error_text(cluster, error.args[0])}"
        raise MillstreamError(Diagnostic("MS828", message, None, remedy)) from None
