"""Creates missing topics, and reports differences of existing ones without changing them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType  # type: ignore[attr-defined]
from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.kafka.clients import PATIENCE, Admin
from millstream.kafka.cluster import option_text
from millstream.kafka.failures import error_text, is_permission
from millstream.project.kafka_options import java_options
from millstream.project.values import Topic as SourceTopic

_log = logging.getLogger(__name__)
_SOON = 3.0
"""Seconds until all brokers know a new topic."""


class TopicConfig(Struct, frozen=True):
    """A topic as the project configures it; None is the cluster's default."""

    name: str
    partitions: int | None = None
    replication: int | None = None
    config: dict[str, str] = {}
    defaults: dict[str, str] = {}
    """Settings of a topic that is created, if the cluster knows them; an existing topic may differ."""


class TopicDifference(Struct, frozen=True):
    """A difference between a topic and the project, and the command that would change the topic."""

    topic: str
    what: str
    """`partitions`, `replication`, or the name of a setting."""
    expected: str
    actual: str
    command: str = ""
    """Empty if no command can do it: the number of partitions can't decrease."""

    @property
    def diagnostic(self) -> Diagnostic:
        message = (
            f"topic '{self.topic}' has {self.what} {self.actual}, but the project configures {self.expected}"
        )
        remedy = f"change the project, or run: {self.command}"
        if not self.command:
            remedy = "change the project, or create a new topic: Kafka can't remove partitions"
        return Diagnostic("MS826", message, None, remedy, severity="warning")


def topic_ids(admin: Admin, topics: Iterable[str]) -> dict[str, str]:
    """Return Kafka's id of each existing topic; a recreated topic gets a new id."""
    compared = admin.client.describe_topics(TopicCollection(list(topics)), request_timeout=PATIENCE)
    ids: dict[str, str] = {}
    for topic, future in compared.items():
        try:
            ids[topic] = str(future.result(PATIENCE).topic_id)
        except KafkaException as error:
            # If the topic does not exist or can't be read, the query reports it.
            _log.debug("no id of topic %s: %s", topic, error)
    return ids


def source_topics(source: SourceTopic) -> list[TopicConfig]:
    """Return the topics of a source as its YAML configures them; none if it reads those of a pattern."""
    if source.pattern:
        return []
    options = source.options
    # In a reference topic, only the newest record of a key counts, unless its versions do.
    config = {"cleanup.policy": "compact"} if source.table and not source.versions else {}
    config |= {name: option_text(value) for name, value in (options.get("topic_config") or {}).items()}
    partitions, replication = options.get("partitions"), options.get("replication")
    return [TopicConfig(topic, partitions, replication, config) for topic in source.topics]


def user_topics(admin: Admin) -> tuple[str, ...]:
    """Return the names of all topics except Kafka's internal ones."""
    return tuple(sorted(name for name in admin.metadata().topics if not name.startswith("__")))


def create_missing(admin: Admin, topics: Iterable[TopicConfig]) -> tuple[str, ...]:
    """Create missing topics; return their names."""
    on_cluster = set(admin.metadata().topics)
    missing = {topic.name: topic for topic in topics if topic.name not in on_cluster}
    if not missing:
        return ()
    diagnostics: list[Diagnostic] = []
    created: list[str] = []
    waiting = list(missing.values())
    while waiting:
        futures = _create(admin, waiting)
        waiting = []
        for name, future in futures.items():
            topic = missing[name]
            try:
                future.result(2 * PATIENCE)
            except KafkaException as error:
                code = error.args[0].code()
                if code == KafkaError.INVALID_CONFIG and topic.defaults:
                    missing[name] = replace(topic, defaults={})
                    waiting.append(missing[name])
                elif code != KafkaError.TOPIC_ALREADY_EXISTS:  # another process may have created it meanwhile
                    diagnostics += _not_created(admin, topic, error)
            else:
                created.append(name)
    _wait_for(admin, created)
    if diagnostics:
        raise MillstreamError(*diagnostics)
    return tuple(created)


def _create(admin: Admin, topics: Iterable[TopicConfig]) -> dict[str, Future[None]]:
    new = [
        NewTopic(
            topic.name,
            num_partitions=topic.partitions or -1,
            replication_factor=topic.replication or -1,
            config=topic.defaults | topic.config,
        )
        for topic in topics
    ]
    try:
        return admin.client.create_topics(new, operation_timeout=PATIENCE, request_timeout=PATIENCE)
    except KafkaException as error:
        raise admin.failure(error, "creating topics") from None


def _wait_for(admin: Admin, names: Iterable[str]) -> None:
    """Wait until the brokers know new topics; earlier requests would fail."""
    deadline = time.monotonic() + _SOON
    while time.monotonic() < deadline:
        on_cluster = admin.metadata().topics
        leaders = [
            p.leader for name in names if name in on_cluster for p in on_cluster[name].partitions.values()
        ]
        if all(name in on_cluster for name in names) and min(leaders, default=0) >= 0:
            return
        time.sleep(0.05)


def _not_created(admin: Admin, topic: TopicConfig, error: KafkaException) -> tuple[Diagnostic, ...]:
    reason = error_text(admin.cluster, error.args[0])
    match error.args[0].code():
        case KafkaError.INVALID_REPLICATION_FACTOR:
            brokers = len(admin.metadata().brokers)
            replication = topic.replication or "the cluster's default"
            message = (
                f"needs {replication} replicas, but the cluster has {brokers} broker{'s' * (brokers != 1)}"
            )
            remedy = f"set replication to at most {brokers} for this target"
        case KafkaError.INVALID_CONFIG:
            options = java_options("topic")
            unknown = [name for name in topic.config if name not in options]
            message = f"has a setting that Kafka refuses: {reason}"
            remedy = "fix topic_config"
            if unknown:
                remedy = f"in topic_config, '{unknown[0]}': " + did_you_mean(unknown[0], options, "remove it")
        case KafkaError.TOPIC_EXCEPTION:
            message = f"has a name that Kafka refuses: {reason}"
            remedy = "use letters, digits, '.', '_' and '-', at most 249 of them"
        case KafkaError.INVALID_PARTITIONS:
            message, remedy = f"can't have {topic.partitions} partitions: {reason}", "fix partitions"
        case KafkaError.POLICY_VIOLATION:
            message, remedy = f"violates a policy of the cluster: {reason}", "ask the cluster's administrator"
        case _:
            return admin.failure(error, f"creating topic '{topic.name}'").diagnostics
    return (Diagnostic("MS825", f"topic '{topic.name}' {message}", None, remedy),)


def compare_topics(admin: Admin, topics: Iterable[TopicConfig]) -> list[TopicDifference]:
    """Compare existing topics with the project's configuration."""
    on_cluster = admin.metadata().topics
    differing: list[TopicDifference] = []
    compared = [topic for topic in topics if topic.name in on_cluster]
    settings = topic_configs(admin, [topic.name for topic in compared if topic.config])
    for topic in compared:
        partitions = on_cluster[topic.name].partitions
        replicas = min((len(partition.replicas) for partition in partitions.values()), default=0)
        if topic.partitions is not None and len(partitions) != topic.partitions:
            expected_number, number = str(topic.partitions), str(len(partitions))
            command = (
                f"kafka-topics.sh --bootstrap-server {admin.cluster.bootstrap_servers} "
                f"--topic {topic.name} --alter --partitions {topic.partitions}"
            )
            command = command if len(partitions) < topic.partitions else ""
            differing.append(TopicDifference(topic.name, "partitions", expected_number, number, command))
        if topic.replication is not None and replicas != topic.replication:
            command = (
                f"kafka-reassign-partitions.sh --bootstrap-server {admin.cluster.bootstrap_servers} "
                "--reassignment-json-file PLAN --execute"
            )
            expected_number, number = str(topic.replication), str(replicas)
            differing.append(TopicDifference(topic.name, "replication", expected_number, number, command))
        if topic.name in settings:
            differing += _config_differences(admin, topic, settings[topic.name])
    return differing


def _config_differences(
    admin: Admin, topic: TopicConfig, on_cluster: Mapping[str, str]
) -> Iterable[TopicDifference]:
    for name, value in topic.config.items():
        if not _same(value, on_cluster.get(name, "")):
            command = (
                f"kafka-configs.sh --bootstrap-server {admin.cluster.bootstrap_servers} --alter "
                f"--entity-type topics --entity-name {topic.name} --add-config '{name}={value}'"
            )
            yield TopicDifference(topic.name, name, value, on_cluster.get(name, "nothing"), command)


def _same(expected: str, actual: str) -> bool:
    if expected.strip() == actual:
        return True
    try:
        return float(expected) == float(actual)
    except ValueError:
        return {p.strip().lower() for p in expected.split(",")} == {
            p.strip().lower() for p in actual.split(",")
        }


def topic_configs(admin: Admin, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the settings of topics; topics without permission are left out."""
    left = tuple(dict.fromkeys(names))
    settings: dict[str, dict[str, str]] = {}
    deadline = time.monotonic() + _SOON
    while left:
        available, left = _configs(admin, left)
        settings |= available
        if left and time.monotonic() > deadline:
            message = f"topic '{left[0]}' does not exist"
            remedy = "create it, or check `bootstrap_servers` of the target"
            raise MillstreamError(Diagnostic("MS827", message, None, remedy))
        time.sleep(0.1 if left else 0)
    return settings


def _configs(admin: Admin, names: Iterable[str]) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Return the settings of topics, and the topics that the brokers don't know yet."""
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    settings: dict[str, dict[str, str]] = {}
    unknown: list[str] = []
    try:
        futures: Mapping[ConfigResource, Any] = admin.client.describe_configs(
            resources, request_timeout=PATIENCE
        )
        for resource, future in futures.items():
            try:
                entries = future.result(2 * PATIENCE)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    unknown.append(resource.name)
                elif not is_permission(error.args[0]):
                    raise
            else:
                settings[resource.name] = {name: entry.value or "" for name, entry in entries.items()}
    except KafkaException as error:
        raise admin.failure(error, "reading settings of topics") from None
    return settings, tuple(unknown)
