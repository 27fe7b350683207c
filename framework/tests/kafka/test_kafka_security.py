"""A real Kafka that wants to know who we are, and permits little."""

import time

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from support.secured_kafka import PASSWORD, cluster_of, secured_port  # noqa: F401 - a fixture

from millstream.core.errors import MillstreamError
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.consuming import follow_records
from millstream.kafka.generators import GeneratedRecord
from millstream.kafka.producing import TopicFeed, send_feeds
from millstream.kafka.topics import TopicConfig, compare_topics, create_missing

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def port(secured_port):  # noqa: F811 - the fixture
    return secured_port


def describe(root, name):
    """Let ann see the topic, and no more."""
    pattern = (ResourceType.TOPIC, name, ResourcePatternType.LITERAL, "User:ann", "*")
    allowed = AclBinding(*pattern, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    for future in root.client.create_acls([allowed]).values():
        future.result(10)


def refused(call, *arguments):
    with pytest.raises(MillstreamError) as caught:
        call(*arguments)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_who_is_known_comes_in_with_any_password(port):
    assert admin_of(cluster_of(port, "ann", PASSWORD)).metadata().brokers


def test_a_wrong_password_is_told_at_once_and_not_shown(port):
    start = time.monotonic()
    diagnostic = refused(admin_of, cluster_of(port, "ann", "hunter2"))
    assert time.monotonic() - start < 3
    assert (diagnostic.code, "sasl_password" in diagnostic.help) == ("MS823", True)
    assert "hunter2" not in repr(diagnostic)


def test_a_mechanism_that_the_cluster_does_not_have(port):
    assert refused(admin_of, cluster_of(port, sasl_mechanism="SCRAM-SHA-256")).code == "MS823"


def test_no_login_where_one_is_needed(port):
    diagnostic = refused(admin_of, Cluster(f"127.0.0.1:{port}"))
    assert (diagnostic.code, "security_protocol" in diagnostic.help) == ("MS822", True)


def test_what_is_not_permitted_is_told_with_the_permission_that_lacks(port, name):
    root, ann = admin_of(cluster_of(port)), admin_of(cluster_of(port, "ann", PASSWORD))
    create_missing(root, [TopicConfig(name, config={"retention.ms": "-1"})])
    diagnostic = refused(create_missing, ann, [TopicConfig(f"{name}_2")])
    assert (diagnostic.code, "for 'ann'" in diagnostic.help) == ("MS824", True)
    feed = TopicFeed(name, iter([GeneratedRecord(None, b"x", None)] * 3))
    assert refused(send_feeds, ann, [feed], 3).code == "MS824"
    describe(root, name)
    assert refused(next, follow_records(ann, {(name, 0): 0})).code == "MS824"
    assert [
        difference.what
        for difference in compare_topics(ann, [TopicConfig(name, 9, config={"retention.ms": "5"})])
    ] == ["partitions"]
