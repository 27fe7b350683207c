"""Topics are created when missing; differences are told and nothing is changed."""

import socket
import time

import pytest
from msgspec.structs import replace

from millstream.core.errors import MillstreamError
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.topics import TopicConfig, compare_topics, create_missing, user_topics
from millstream.project.secrets import Secret


def refused(call, *arguments):
    with pytest.raises(MillstreamError) as caught:
        call(*arguments)
    return caught.value.diagnostics


def test_a_missing_topic_is_created_as_wanted_and_once(admin, name):
    topic = TopicConfig(name, 3, 1, {"retention.ms": "86400000", "cleanup.policy": "compact,delete"})
    assert create_missing(admin, [topic]) == (name,)
    assert create_missing(admin, [topic]) == ()
    assert name in user_topics(admin)
    assert len(admin.metadata().topics[name].partitions) == 3
    assert compare_topics(admin, [topic]) == []


def test_without_wishes_the_cluster_decides(admin, name):
    assert create_missing(admin, [TopicConfig(name)]) == (name,)
    assert compare_topics(admin, [TopicConfig(name)]) == []


def test_differences_are_told_with_the_command_that_changes_them(admin, name):
    create_missing(admin, [TopicConfig(name, 2, 1, {"retention.ms": "1000"})])
    topic = TopicConfig(name, 4, 3, {"retention.ms": "2000"})
    by_what = {difference.what: difference for difference in compare_topics(admin, [topic])}
    assert {what: (difference.expected, difference.actual) for what, difference in by_what.items()} == {
        "partitions": ("4", "2"), "replication": ("3", "1"), "retention.ms": ("2000", "1000"),
    }  # fmt: skip
    assert f"--topic {name} --alter --partitions 4" in by_what["partitions"].command
    assert f"--entity-name {name} --add-config 'retention.ms=2000'" in by_what["retention.ms"].command
    assert by_what["partitions"].diagnostic.severity == "warning"
    assert len(admin.metadata().topics[name].partitions) == 2


def test_no_command_takes_partitions_away(admin, name):
    create_missing(admin, [TopicConfig(name, 2)])
    (difference,) = compare_topics(admin, [TopicConfig(name, 1)])
    assert difference.command == ""
    assert "can't remove partitions" in difference.diagnostic.help


def test_the_same_value_written_otherwise_is_no_difference(admin, name):
    create_missing(
        admin, [TopicConfig(name, config={"min.cleanable.dirty.ratio": "0.50", "preallocate": "FALSE"})]
    )
    assert (
        compare_topics(
            admin, [TopicConfig(name, config={"min.cleanable.dirty.ratio": ".5", "preallocate": "false"})]
        )
        == []
    )


@pytest.mark.parametrize(
    ("change", "message", "remedy"),
    [
        ({"replication": 3}, "needs 3 replicas, but the cluster has 1 broker", "at most 1"),
        ({"config": {"retention": "5"}}, "has a setting that Kafka refuses", "did you mean 'retention.ms'?"),
        ({"config": {"retention.ms": "soon"}}, "retention.ms", "fix topic_config"),
        ({"name": "a b"}, "has a name that Kafka refuses", "letters, digits"),
    ],
)
def test_what_kafka_refuses_is_told(admin, name, change, message, remedy):
    topic = replace(TopicConfig(name), **change)
    (diagnostic,) = refused(create_missing, admin, [topic])
    assert (diagnostic.code, message in diagnostic.message, remedy in diagnostic.help) == (
        "MS825",
        True,
        True,
    ), diagnostic
    assert topic.name not in user_topics(admin)


def test_good_topics_are_created_beside_bad_ones_and_all_bad_ones_are_told(admin, name):
    topics = [
        TopicConfig(f"{name}_1", replication=9),
        TopicConfig(f"{name}_2"),
        TopicConfig(f"{name}_3", replication=9),
    ]
    assert len(refused(create_missing, admin, topics)) == 2
    assert f"{name}_2" in user_topics(admin)


def test_a_closed_port_is_told_with_its_address_in_time():
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{port.getsockname()[1]}"
    start = time.monotonic()
    (diagnostic,) = refused(admin_of, Cluster(address))
    assert time.monotonic() - start < 10
    assert diagnostic.code == "MS822"
    assert address in diagnostic.message
    assert "Connection refused" in diagnostic.message
    assert "bootstrap_servers" in diagnostic.help


def test_a_host_that_does_not_exist_and_comes_from_the_environment_is_masked():
    (diagnostic,) = refused(admin_of, Cluster(Secret("no-such-host.invalid:9092")))
    assert diagnostic.code == "MS822"
    assert "no-such-host" not in repr(diagnostic)


def test_a_wrong_protocol_is_told(cluster):
    message = {"security_protocol": "SSL"}
    (diagnostic,) = refused(admin_of, Cluster(cluster.bootstrap_servers, message))
    assert diagnostic.code in {"MS822", "MS823"}
    assert "security_protocol" in diagnostic.help


def test_a_value_that_librdkafka_refuses_is_told(cluster):
    message = {"admin": {"metadata.max.age.ms": Secret("hunter2")}}
    (diagnostic,) = refused(admin_of, Cluster(cluster.bootstrap_servers, message))
    assert diagnostic.code == "MS828"
    assert "hunter2" not in repr(diagnostic)
