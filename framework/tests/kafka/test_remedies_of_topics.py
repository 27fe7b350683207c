"""Remedies of topics that Kafka refuses, that differ, or that take no records: each is followed."""

import re
import shlex
from itertools import count

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from msgspec.structs import replace
from support.console import run_tool
from support.runs import pairs

from millstream.core.errors import MillstreamError
from millstream.kafka import sent_batches
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.consuming import all_records
from millstream.kafka.generators import GeneratedRecord
from millstream.kafka.producing import TopicFeed, send_feeds
from millstream.kafka.sent_batches import create_sent_batches, last_sent
from millstream.kafka.topics import TopicConfig, compare_topics, create_missing
from millstream.kafka.transactions import open_producer
from millstream.local.broker import broker_folder_of, keep_broker, stop_broker


def refused(call, *arguments):
    with pytest.raises(MillstreamError) as caught:
        call(*arguments)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.help


def feed(topic, size=10):
    return [TopicFeed(topic, (GeneratedRecord(str(n).encode(), b"x" * size, None) for n in count()))]


def test_a_topic_that_kafka_refuses_is_created_once_it_is_fixed(admin, name):
    wrong = {
        "set replication to at most 1 for this target": ({"replication": 3}, {"replication": 1}),
        "in topic_config, 'retention': did you mean 'retention.ms'?": (
            {"config": {"retention": "5"}},
            {"config": {"retention.ms": "5"}},
        ),
        "fix topic_config": ({"config": {"retention.ms": "soon"}}, {"config": {"retention.ms": "5"}}),
        "use letters, digits, '.', '_' and '-', at most 249 of them": (
            {"name": f"{name} é"},
            {"name": f"{name}_-.9"},
        ),
    }
    for number, (remedy, (change, fix)) in enumerate(wrong.items()):
        topic = TopicConfig(f"{name}_{number}")
        assert refused(create_missing, admin, [replace(topic, **change)]) == ("MS825", remedy)
        assert len(create_missing(admin, [replace(topic, **fix)])) == 1


@pytest.mark.long
def test_a_topic_that_differs_is_changed_by_the_commands_of_the_warnings(admin, name):
    create_missing(admin, [TopicConfig(name, 2, config={"retention.ms": "1000"})])
    topic = TopicConfig(name, 4, config={"retention.ms": "2000"})
    tools = {"kafka-topics.sh": "TopicCommand", "kafka-configs.sh": "ConfigCommand"}
    for difference in compare_topics(admin, [topic]):
        diagnostic = difference.diagnostic
        assert diagnostic.code == "MS826"
        command = diagnostic.help.removeprefix("change the project, or run: ")
        program, *arguments = shlex.split(command)
        package = "kafka.admin" if program == "kafka-configs.sh" else "org.apache.kafka.tools"
        run_tool(f"{package}.{tools[program]}", *arguments)
    assert compare_topics(admin, [topic]) == []
    (fewer,) = compare_topics(admin, [replace(topic, partitions=1)])
    assert fewer.diagnostic.help == "change the project, or create a new topic: Kafka can't remove partitions"
    assert compare_topics(admin, [replace(topic, partitions=4)]) == []


def set_config(admin, topic, setting, value):
    entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for future in admin.client.incremental_alter_configs([resource]).values():
        future.result(10)


def test_records_that_are_too_large_are_sent_with_larger_limits(admin, cluster, name):
    remedy = "set max.request.size under producer:, and max.message.bytes of the topic"
    create_missing(admin, [TopicConfig(name, config={"max.message.bytes": "2000"})])
    assert refused(send_feeds, admin, feed(name, 2_000_000), 2) == ("MS835", remedy)
    larger = admin_of(replace(cluster, settings={"producer": {"max.request.size": 5_000_000}}))
    assert refused(send_feeds, larger, feed(name, 2_000_000), 2) == ("MS835", remedy)
    set_config(admin, name, "max.message.bytes", "5000000")
    assert send_feeds(larger, feed(name, 2_000_000), 2).records == {name: 2}


def test_a_transaction_that_another_process_took_over_is_repeated(admin, cluster, name):
    create_missing(admin, [TopicConfig(name)])

    def send(sender, value):
        with sender.transaction() as producer:
            producer.produce(name, value)

    first = open_producer(admin, f"{name}.id")
    first.producer.begin_transaction()
    first.producer.produce(name, b"from the first")
    first.producer.flush(10)
    second = open_producer(admin, f"{name}.id")
    first.producer.produce(name, b"after the second")
    remedy = "wait until the other one is done, then repeat the command: nothing is sent twice"
    assert refused(first._do, lambda: first.producer.commit_transaction(10), "committing") == (
        "MS839",
        remedy,
    )
    send(second, b"once")
    send(open_producer(admin, f"{name}.id"), b"repeated")
    readable = [value for _, value in pairs(cluster.bootstrap_servers, name)]
    assert readable == [b"once", b"repeated"]


def test_a_transaction_that_has_not_ended_is_waited_for(admin, cluster, name, monkeypatch):
    monkeypatch.setattr(sent_batches, "_PATIENCE", 0.5)
    create_sent_batches(admin, name)
    # Of a query whose process died; Kafka ends it after its timeout.
    dead = Producer({
        "bootstrap.servers": cluster.bootstrap_servers,
        "transactional.id": name,
        "transaction.timeout.ms": 1000,
        "message.timeout.ms": 1000,
    })  # fmt: skip
    dead.init_transactions(20)
    dead.begin_transaction()
    dead.produce(name, b"{}", b"query")
    assert dead.flush(20) == 0
    remedy = "Kafka ends it after its timeout; then try again: nothing is lost or sent twice"
    assert refused(last_sent, admin, name, "query") == ("MS809", remedy)
    monkeypatch.undo()
    assert last_sent(admin, name, "query") is None


@pytest.mark.long
def test_records_that_kafka_can_not_read_are_named_in_its_log(tmp_path):
    """What else Kafka refuses has no other remedy than its log, which says more."""
    try:
        cluster = Cluster(keep_broker(tmp_path).address, embedded=True)
        admin = admin_of(cluster)
        create_missing(admin, [TopicConfig("broken")])
        send_feeds(admin, feed("broken"), 5)
        (segment,) = (broker_folder_of(tmp_path).data / "broken-0").glob("*.log")
        segment.write_bytes(bytes([0] * segment.stat().st_size))
        code, remedy = refused(lambda: list(all_records(admin, ["broken"])))
        assert (code, remedy) == ("MS829", "see the log of the broker")
        log = broker_folder_of(tmp_path).log.read_text()
        assert re.search("broken-0.*(Corrupt|corrupt)|(Corrupt|corrupt).*broken-0", log)
    finally:
        stop_broker(tmp_path, force=True)
