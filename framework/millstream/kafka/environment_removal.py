"""Finds and removes topics and consumer groups by the prefix of an environment."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException

from millstream.kafka.clients import PATIENCE, Admin
from millstream.kafka.topics import user_topics


def topics_with(admin: Admin, prefix: str) -> list[str]:
    return [name for name in user_topics(admin) if name.startswith(prefix)]


def groups_with(admin: Admin, prefix: str, *, unused: bool = False) -> list[str]:
    """Return the consumer groups with a prefix; if `unused`, only those without members."""
    states = {ConsumerGroupState.EMPTY} if unused else set()
    try:
        listing = admin.client.list_consumer_groups(states=states, request_timeout=PATIENCE)
        groups = listing.result(2 * PATIENCE)
    except KafkaException as error:
        raise admin.failure(error, "listing consumer groups") from None
    return sorted(group.group_id for group in groups.valid if group.group_id.startswith(prefix))


def remove_topics(admin: Admin, names: Iterable[str]) -> None:
    """Remove topics, and wait until the brokers no longer know them."""
    if not (topics := list(names)):
        return
    try:
        futures = admin.client.delete_topics(topics, operation_timeout=PATIENCE, request_timeout=PATIENCE)
        for future in futures.values():
            future.result(2 * PATIENCE)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise admin.failure(error, "removing topics") from None


def remove_groups(admin: Admin, names: Iterable[str]) -> None:
    if not (groups := list(names)):
        return
    try:
        for future in admin.client.delete_consumer_groups(groups, request_timeout=PATIENCE).values():
            future.result(2 * PATIENCE)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise admin.failure(error, "removing consumer groups") from None
