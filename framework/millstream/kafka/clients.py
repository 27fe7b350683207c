"""Clients that say nothing on their own: what goes wrong is heard here, and told once."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ClusterMetadata  # type: ignore[attr-defined]

from millstream.errors import Diagnostic, MillstreamError
from millstream.kafka.cluster import Cluster, Value, revealed
from millstream.kafka.failures import failure, is_authentication, refusal, said, silence
from millstream.kafka.settings import admin_config, consumer_config, producer_config

CONNECT = 5.0
"""Seconds that a cluster has to answer for the first time."""
PATIENCE = 10.0
"""Seconds that it has for an answer."""

_SILENT = logging.getLogger("millstream.kafka.clients")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

Client = TypeVar("Client", AdminClient, Consumer, Producer)


class Heard:
    """The last errors that a client told of."""

    def __init__(self) -> None:
        self.errors: deque[KafkaError] = deque(maxlen=20)

    def __call__(self, error: KafkaError) -> None:
        self.errors.append(error)


class Admin:
    """An admin client that is connected."""

    def __init__(self, cluster: Cluster, client: AdminClient, heard: Heard) -> None:
        self.cluster = cluster
        self.client = client
        self.heard = heard

    def metadata(self, topic: str | None = None) -> ClusterMetadata:
        try:
            return (
                self.client.list_topics(topic, timeout=PATIENCE)
                if topic
                else self.client.list_topics(timeout=PATIENCE)
            )
        except KafkaException as error:
            raise self.failure(error, "topics are listed") from None

    def failure(self, error: KafkaException, doing: str) -> MillstreamError:
        self.client.poll(0)
        return failure(self.cluster, error.args[0], doing, self.heard.errors)


def admin_of(cluster: Cluster) -> Admin:
    """Connect to a cluster, or tell within seconds why that is not possible."""
    heard = Heard()
    client = _made(cluster, AdminClient, admin_config(cluster), heard)
    deadline = time.monotonic() + CONNECT
    while True:
        try:
            client.list_topics(timeout=0.5)
        except KafkaException as error:
            client.poll(0)
            refused = next((each for each in [error.args[0], *heard.errors] if is_authentication(each)), None)
            if refused is not None:
                raise refusal(cluster, refused) from None
            if time.monotonic() > deadline:
                raise silence(cluster, heard.errors or [error.args[0]]) from None
        else:
            return Admin(cluster, client, heard)


def producer_of(
    cluster: Cluster,
    on_failure: Callable[[KafkaError, Any], None],
    *,
    live: bool = False,
    largest: int | None = None,
) -> tuple[Producer, Heard]:
    """Return a producer; `on_failure` is told of records that were not taken, and of no others."""
    heard = Heard()
    more = {"on_delivery": on_failure, "delivery.report.only.error": True}
    return _made(cluster, Producer, producer_config(cluster, live=live, largest=largest), heard, more), heard


def consumer_of(cluster: Cluster) -> tuple[Consumer, Heard]:
    heard = Heard()
    return _made(cluster, Consumer, consumer_config(cluster), heard), heard


def _made(
    cluster: Cluster,
    kind: type[Client],
    options: Mapping[str, Value],
    heard: Heard,
    more: Mapping[str, Any] | None = None,
) -> Client:
    try:
        settings: dict[str, Any] = {**revealed(options), "error_cb": heard, **(more or {})}
        return kind(settings, logger=_SILENT)
    except KafkaException as error:
        remedy = "mend it in profiles.yml, under kafka:"
        message = f"Kafka's client can't be made: {said(cluster, error.args[0])}"
        raise MillstreamError(Diagnostic("MS828", message, None, remedy)) from None
